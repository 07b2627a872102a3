package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"broker/resp"
)

// A redisCLI is as much of redis-cli as scripts use: a command in the
// arguments, or commands on standard input, and replies as redis-cli writes
// them when its output is no terminal.
type redisCLI struct {
	target
	resp2, noWarning bool
	version          bool
	failOnError      bool
	raw              bool
	lastArgument     bool
}

func redisCLITool(set *flag.FlagSet) runner {
	r := &redisCLI{}
	r.addFlags(set, 0)
	set.BoolVar(&r.resp3, "3", false, "use RESP3")
	set.BoolVar(&r.resp2, "2", false, "use RESP2, as without this flag")
	set.BoolVar(&r.failOnError, "e", false, "exit with status 1 when a reply is an error")
	set.BoolVar(&r.lastArgument, "x", false, "the last argument of the command is what stands on standard input")
	set.BoolVar(&r.raw, "raw", false, "accepted: replies are written raw in any case")
	set.BoolVar(&r.noWarning, "no-auth-warning", false, "accepted: there is no warning about passwords in arguments")
	set.BoolVar(&r.version, "version", false, "print the version")
	set.BoolVar(&r.version, "v", false, "print the version")
	return r.run
}

func (r *redisCLI) run(ctx context.Context, p *Process, args []string) error {
	if r.version {
		_, err := fmt.Fprintf(p.Stdout, "redis-cli %s (broker %s)\n", p.CompatVersion, p.Version)
		return err
	}
	if err := r.resolve(p.Env); err != nil {
		return err
	}
	if r.lastArgument {
		last, err := io.ReadAll(p.Stdin)
		if err != nil {
			return err
		}
		args = append(args[:len(args):len(args)], string(last))
	}
	c, err := r.dial(ctx)
	if err != nil {
		// The text that scripts wait for.
		network, addr := r.address()
		if network == "unix" || strings.Contains(err.Error(), "connect:") {
			fmt.Fprintf(p.Stderr, "Could not connect to Redis at %s: %s\n", addr, reason(err))
		} else {
			fmt.Fprintf(p.Stderr, "%s\n", oneLine(err))
		}
		return errReported
	}
	defer c.close()
	out := bufio.NewWriter(p.Stdout)
	if len(args) > 0 {
		return r.finish(ctx, p, r.command(c, out, args), out)
	}
	return r.finish(ctx, p, r.commands(c, out, p.Stdin), out)
}

// reason shortens a dial error to what redis-cli prints.
func reason(err error) string {
	text := oneLine(err)
	if i := strings.LastIndex(text, "connect: "); i >= 0 {
		text = text[i+len("connect: "):]
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

// finish flushes what was written and decides about the error.
func (r *redisCLI) finish(ctx context.Context, p *Process, err error, out *bufio.Writer) error {
	flushErr := out.Flush()
	switch {
	case ctx.Err() != nil:
		return nil // interrupted, as one ends SUBSCRIBE and MONITOR
	case errors.Is(err, errQuit):
		return flushErr
	case errors.Is(err, io.EOF):
		fmt.Fprintln(p.Stderr, "Error: Server closed the connection")
		return errReported
	case err != nil:
		fmt.Fprintln(p.Stderr, err)
		return errReported
	}
	return flushErr
}

// errQuit ends the loop over commands in good order.
var errQuit = errors.New("quit")

// commands runs what stands on standard input, a command to a line.
func (r *redisCLI) commands(c *conn, out *bufio.Writer, in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if text := strings.TrimSpace(line); text != "" {
			args, ok := splitLine(text)
			if !ok {
				fmt.Fprintln(out, "Invalid argument(s)")
			} else if len(args) > 0 {
				if strings.EqualFold(args[0], "quit") || strings.EqualFold(args[0], "exit") {
					return errQuit
				}
				if err := r.command(c, out, args); err != nil {
					return err
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// splitLine takes a line apart by Redis's rules for words and quotes.
func splitLine(line string) ([]string, bool) {
	if strings.ContainsAny(line[:1], "*") {
		return strings.Fields(line), true // not the beginning of a request
	}
	d := resp.Decoder{Limits: resp.Limits{}}
	var p resp.Partial
	words, _, err := d.Decode(&p, []byte(line+"\n"))
	if err != nil {
		return nil, false
	}
	args := make([]string, len(words))
	for i, w := range words {
		args[i] = string(w)
	}
	return args, true
}

// command runs one command. Those that make the server send on and on are
// read until the connection ends.
func (r *redisCLI) command(c *conn, out *bufio.Writer, args []string) error {
	endless := false
	replies := 1
	switch strings.ToLower(args[0]) {
	case "subscribe", "psubscribe", "ssubscribe", "monitor":
		endless = len(args) > 1 || strings.EqualFold(args[0], "monitor")
	case "unsubscribe", "punsubscribe", "sunsubscribe":
		replies = max(1, len(args)-1)
	}
	if err := c.send(args...); err != nil {
		return err
	}
	if err := c.w.Flush(); err != nil {
		return err
	}
	for n := 0; endless || n < replies; n++ {
		v, err := c.receive(r.timeout)
		if err != nil {
			return err
		}
		if v.isError() && r.failOnError {
			return v.err()
		}
		writeRaw(out, v)
		if !isText(args) {
			out.WriteByte('\n')
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if v.isError() {
			return nil
		}
	}
	return nil
}

// isText reports whether the reply to a command is a text for people, behind
// which redis-cli writes no line end of its own.
func isText(args []string) bool {
	is := func(i int, names ...string) bool {
		return i < len(args) && slices.Contains(names, strings.ToLower(args[i]))
	}
	switch {
	case is(0, "info", "lolwut"),
		is(0, "memory") && is(1, "malloc-stats", "doctor"),
		is(0, "client") && is(1, "list", "info"),
		is(0, "latency") && is(1, "graph") && len(args) == 3,
		is(0, "cluster") && is(1, "nodes", "info") && len(args) == 2,
		is(0, "latency") && is(1, "doctor") && len(args) == 2:
		return true
	}
	return false
}

// writeRaw writes a value as redis-cli does with --raw: texts as they are,
// elements in lines of their own, nothing for null.
func writeRaw(w *bufio.Writer, v value) {
	switch v.kind {
	case '-', '!':
		w.WriteString(v.text)
		w.WriteByte('\n')
	case '#':
		if v.text == "t" {
			w.WriteString("(true)")
		} else {
			w.WriteString("(false)")
		}
	case '*', '~', '>':
		for i, e := range v.elems {
			if i > 0 {
				w.WriteByte('\n')
			}
			writeRaw(w, e)
		}
	case '%':
		for i := 0; i+1 < len(v.elems); i += 2 {
			if i > 0 {
				w.WriteByte('\n')
			}
			writeRaw(w, v.elems[i])
			w.WriteByte(' ')
			writeRaw(w, v.elems[i+1])
		}
	default:
		w.WriteString(v.text) // empty for null
	}
}
