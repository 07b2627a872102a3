package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"broker/internal/broker"
	"broker/internal/cli"
	"broker/internal/config"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1
)

func main() {
	choice := cli.Choose(os.Args)
	if choice.Tool != nil {
		os.Exit(runTool(choice))
	}
	// As Redis: losing the terminal or the reader of the log is no reason to
	// stop serving. Go would end the process on a SIGPIPE from stdout.
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)

	// Room for two: the second must not be dropped while the first is being
	// acted upon. Asked for before anything is opened, so that a signal
	// during the start leads to an orderly end, too.
	stop := make(chan os.Signal, 2)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)

	os.Exit(serve(config.Sources{
		Args:  choice.Args,
		Env:   os.Environ(),
		Stdin: os.Stdin,
	}, choice.AsRedis, os.Stdout, os.Stderr, stop))
}

// runTool runs a subcommand. The first signal asks it to end, a second one
// ends the process.
func runTool(choice cli.Choice) int {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	context.AfterFunc(ctx, release)
	return choice.Tool.Run(ctx, &cli.Process{
		Args:          choice.Args,
		Env:           os.Environ(),
		Stdin:         os.Stdin,
		Stdout:        os.Stdout,
		Stderr:        os.Stderr,
		Version:       broker.Version,
		CompatVersion: broker.CompatVersion,
		Validate:      broker.Check,
	})
}

// fail prints err as one line for the person who started the program.
func fail(stderr io.Writer, err error) int {
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	fmt.Fprintf(stderr, "broker: %s\n", text)
	return exitError
}
