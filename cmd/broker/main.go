package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1
)

func main() {
	// As Redis: losing the terminal or the reader of the log is no reason to
	// stop serving. Go would end the process on a SIGPIPE from stdout.
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)

	// Room for two: the second must not be dropped while the first is being
	// acted upon. Asked for before anything is opened, so that a signal
	// during the start leads to an orderly end, too.
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)

	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, stop))
}

// run picks what the arguments ask for and returns the exit status. So far
// there is one thing to do, which is to serve; a first argument without
// dashes is where others would branch off.
func run(args []string, stdout, stderr io.Writer, stop <-chan os.Signal) int {
	return serve(args, stdout, stderr, stop)
}

// fail prints err as one line for the person who started the program.
func fail(stderr io.Writer, err error) int {
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	fmt.Fprintf(stderr, "broker: %s\n", text)
	return exitError
}
