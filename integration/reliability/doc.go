// Package reliability is what the checkers of the other integration packages
// share: how long they run, and where they leave what they measured.
//
// A checker has a short form, seconds long, and a full one. RELIABILITY=full
// in the environment selects the full one; everything else is the short one.
// With FIGURES=folder a checker writes one line about its run into that
// folder, under the key of its claim. The claims are one table here; the
// README's table of reliability is made from it and from the figures that are
// committed in testdata/figures: go test ./integration/reliability -update.
//
// It is not a framework: a checker is a test like any other.
//
// All functions may be called from any goroutine.
package reliability
