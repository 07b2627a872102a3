package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"broker/internal/config"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1
)

// A Process is what a tool has of the process that it runs in.
type Process struct {
	Args           []string // behind the tool's name
	Env            []string // in the form of os.Environ
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Version is the broker's own version, CompatVersion that of Redis which it
	// is compatible with.
	Version, CompatVersion string

	// Validate reports what else keeps the broker from starting with cfg, which
	// has passed its own Validate; nil: nothing.
	Validate func(cfg *config.Config) error
}

// A Tool is a subcommand.
type Tool struct {
	name string
	args string // placeholders of the arguments behind the flags
	doc  string // one line

	// flags adds the tool's flags, whose values are found in the returned
	// runner. It is also called to describe them.
	flags func(*flag.FlagSet) runner
}

// A runner is a tool whose flags were parsed. args are the rest.
type runner func(ctx context.Context, p *Process, args []string) error

// Serve is the name of the subcommand that Choose leaves to its caller.
const Serve = "serve"

// tools are the subcommands, in the order in which help shows them.
func tools() []Tool {
	return []Tool{
		{"ping", "[MESSAGE]", "asks a broker for a sign of life, for health checks", pingTool},
		{"sub", "CHANNEL ...", "writes the messages of channels or patterns to standard output", subTool},
		{"pub", "[CHANNEL [MESSAGE]]", "publishes a message, or those on standard input", pubTool},
		{"check", "[FILE] [--name value ...]", "says whether the broker would start with a configuration, and what it ignores", nil},
		{"redis-cli", "[COMMAND [ARG ...]]", "sends one command and prints the reply as redis-cli does in scripts", redisCLITool},
		{"version", "", "prints the version", nil},
		{"completion", "bash|zsh", "prints a script that completes the command line in a shell", nil},
		{"man", "", "prints the manual page", nil},
		{"help", "[SUBCOMMAND]", "describes a subcommand", nil},
	}
}

func lookup(name string) *Tool {
	for _, t := range tools() {
		if t.name == name {
			return &t
		}
	}
	return nil
}

// serverNames and clientNames are what the program may be called by a link, or
// by a first argument that a container image of Redis would take.
var (
	serverNames = []string{"redis-server", "valkey-server"}
	clientNames = []string{"redis-cli", "valkey-cli"}
)

// A Choice is what the command line of the process asks for.
type Choice struct {
	Tool *Tool    // nil: serve
	Args []string // of the tool or the broker

	// AsRedis says that the broker was called as redis-server, and answers
	// --version as that does.
	AsRedis bool
}

// Choose finds out what argv, the process's name first, asks for. A first
// argument that is no subcommand belongs to the broker: it may be the name of
// a configuration file.
func Choose(argv []string) Choice {
	if len(argv) == 0 {
		return Choice{}
	}
	name, args := filepath.Base(argv[0]), argv[1:]
	if !slices.Contains(serverNames, name) && !slices.Contains(clientNames, name) {
		if len(args) == 0 {
			return Choice{}
		}
		name, args = args[0], args[1:]
	}
	switch {
	case slices.Contains(serverNames, name):
		return Choice{Args: args, AsRedis: true}
	case slices.Contains(clientNames, name):
		return Choice{Tool: lookup("redis-cli"), Args: args}
	case name == Serve:
		return Choice{Args: args}
	}
	if t := lookup(name); t != nil {
		return Choice{Tool: t, Args: args}
	}
	return Choice{Args: argv[1:]}
}

// errReported ends a tool with status 1 whose message has been written.
var errReported = errors.New("reported")

// Run runs the tool and returns the exit status. Its last word, if something
// went wrong, is one line on Stderr.
func (t *Tool) Run(ctx context.Context, p *Process) int {
	err := t.run(ctx, p)
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(p.Stderr, "broker %s: %s\n", t.name, oneLine(err))
	}
	return exitError
}

func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

func (t *Tool) run(ctx context.Context, p *Process) error {
	switch t.name {
	case "check":
		return check(p)
	case "version":
		_, err := fmt.Fprintf(p.Stdout, "broker %s\n", p.Version)
		return err
	case "completion":
		return completion(p)
	case "man":
		return man(p)
	case "help":
		return help(p)
	}
	set := flag.NewFlagSet(t.name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	run := t.flags(set)
	if err := set.Parse(p.Args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, err := io.WriteString(p.Stdout, t.Help())
			return err
		}
		return fmt.Errorf("%w; see broker help %s", err, t.name)
	}
	return run(ctx, p, set.Args())
}
