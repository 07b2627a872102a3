package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"broker/internal/config"
)

// man is the tool man: it prints the manual page, in the macros of man(7).
func man(p *Process) error {
	_, err := io.WriteString(p.Stdout, manual(p.Version))
	return err
}

func manual(version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH BROKER 1 \"\" \"broker %s\"\n", roff(version))
	b.WriteString(".SH NAME\nbroker \\- Redis-compatible publish/subscribe server\n.SH SYNOPSIS\n")
	synopsis := func(args string) { fmt.Fprintf(&b, ".B broker\n%s\n.br\n", roff(args)) }
	synopsis("[FILE] [--name value ...]")
	for _, t := range tools() {
		args := t.name
		if t.flags != nil {
			args += " [flags]"
		}
		synopsis(strings.TrimSpace(args + " " + t.args))
	}
	b.WriteString(".SH DESCRIPTION\n")
	b.WriteString(roff("Without a subcommand the broker runs, in the foreground, until SIGTERM or SIGINT. FILE is in the syntax of redis.conf; the environment (BROKER_MAXCLIENTS is maxclients) overrides it, and flags override both.") + "\n")
	b.WriteString(".SH SUBCOMMANDS\n")
	for _, t := range tools() {
		fmt.Fprintf(&b, ".SS %s\n%s\n", roff(t.name), roff(strings.ToUpper(t.doc[:1])+t.doc[1:]+"."))
		if set := t.flagSet(); set != nil {
			set.VisitAll(func(f *flag.Flag) {
				value, doc := flag.UnquoteUsage(f)
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(dashes(f.Name)+f.Name+" "+value)), roff(doc))
			})
		}
	}
	b.WriteString(".SH PARAMETERS\n.nf\n")
	for line := range strings.Lines(parameterHelp()) {
		b.WriteString(roff(strings.TrimRight(line, "\n")) + "\n")
	}
	b.WriteString(".fi\n.SH EXIT STATUS\n0 after an orderly end, 1 when something went wrong.\n.SH SEE ALSO\n")
	b.WriteString(roff("/usr/share/doc/broker holds guides for operating, security, metrics and coming from Redis.") + "\n")
	return b.String()
}

// parameterHelp returns the part of the broker's help that lists parameters.
func parameterHelp() string {
	text := config.Help()
	if i := strings.Index(text, "\n  --"); i >= 0 {
		return text[i+1:]
	}
	return text
}

// roff makes a line of text out of what could be a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if text != "" && (text[0] == '.' || text[0] == '\'') {
		text = `\&` + text
	}
	return text
}
