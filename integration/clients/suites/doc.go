// Package suites runs the tests that client libraries bring for themselves
// against the broker: go-redis's specs and rueidis's pub/sub tests, of the
// versions that the client programs use. make client-suites runs them; a plain
// go test does not, because it would fetch modules and build for a minute.
//
// Nothing of the libraries is kept here. The lists in testdata name the tests:
// those that are run, all of which have to pass, and those that are not, each
// with the reason. A test that a list does not name fails the run, so a new
// version of a library cannot bring one that nobody looked at.
package suites
