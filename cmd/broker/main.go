package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"broker/internal/config"
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

	os.Exit(serve(config.Sources{
		Args:  os.Args[1:],
		Env:   os.Environ(),
		Stdin: os.Stdin,
	}, os.Stdout, os.Stderr, stop))
}

// fail prints err as one line for the person who started the program.
func fail(stderr io.Writer, err error) int {
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	fmt.Fprintf(stderr, "broker: %s\n", text)
	return exitError
}
