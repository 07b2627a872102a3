// Package course is what the Go programs share: the course that every client
// program runs, over one [Library], and the lines that it prints.
//
// The steps and the lines are described in the package that starts the
// programs, integration/clients; a program decides nothing, it does what its
// environment says ([Steps]) and prints what its library made of the answers.
//
// Emit may be called from any goroutine; Run belongs to main. Anything that
// goes wrong ends the program with a line on standard error and status 1.
package course
