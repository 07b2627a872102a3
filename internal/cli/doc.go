// Package cli holds the subcommands of the program, those that are clients of
// a broker or look at its configuration: ping, sub, pub, check, version, and
// the part of redis-cli that scripts and health checks use.
//
// A subcommand is a row in the table of tools.go. Each gets a Process, writes
// to its Stdout and Stderr only, and returns an exit status: nothing here ends
// the process, listens to signals or reads globals of it. Cancelling the
// context ends a tool in good order, with what it has counted so far.
//
// What this package is not: a client library. It speaks as much RESP as it
// needs, with limits of its own on what a server may make it hold. And it does
// not run the broker: Choose says that the arguments ask for that, the caller
// does it.
//
// A tool runs on the goroutine that called it; a connection is used by one
// goroutine that writes and one that reads.
package cli
