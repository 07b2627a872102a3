package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// Help returns the description of the subcommands, for the beginning of the
// program's own.
func Help() string {
	var b strings.Builder
	b.WriteString("Subcommands:\n\n")
	fmt.Fprintf(&b, "  %-10s %s\n", Serve, "runs the broker; so does no subcommand")
	for _, t := range tools() {
		fmt.Fprintf(&b, "  %-10s %s\n", t.name, t.doc)
	}
	b.WriteString("\nbroker help SUBCOMMAND describes one. A configuration file of that name is\nwritten ./NAME. Called as redis-server the program runs the broker, called as\nredis-cli it is the subcommand of that name.\n")
	return b.String()
}

// Help returns the description of the tool.
func (t *Tool) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: broker %s", t.name)
	set := t.flagSet()
	if set != nil {
		b.WriteString(" [flags]")
	}
	if t.args != "" {
		b.WriteString(" " + t.args)
	}
	fmt.Fprintf(&b, "\n\n%s%s.\n", strings.ToUpper(t.doc[:1]), t.doc[1:])
	if set == nil {
		return b.String()
	}
	b.WriteString("\nFlags:\n\n")
	set.VisitAll(func(f *flag.Flag) {
		value, doc := flag.UnquoteUsage(f)
		line := "  " + dashes(f.Name) + f.Name
		if value != "" {
			line += " " + value
		}
		fmt.Fprintf(&b, "%-24s %s", line, doc)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
			fmt.Fprintf(&b, " (default: %s)", f.DefValue)
		}
		b.WriteString("\n")
	})
	if t.name != "redis-cli" {
		b.WriteString("\nThe password may also stand in the environment as REDISCLI_AUTH, where other\nusers of the machine do not see it.\n")
	}
	return b.String()
}

// dashes returns what is written before a flag's name.
func dashes(name string) string {
	if len(name) == 1 {
		return "-"
	}
	return "--"
}

// flagSet returns the tool's flags for description; nil: it has none.
func (t *Tool) flagSet() *flag.FlagSet {
	if t.flags == nil {
		return nil
	}
	set := flag.NewFlagSet(t.name, flag.ContinueOnError)
	t.flags(set)
	return set
}

func help(p *Process) error {
	if len(p.Args) == 0 {
		_, err := io.WriteString(p.Stdout, Help())
		return err
	}
	t := lookup(p.Args[0])
	if t == nil {
		return fmt.Errorf("there is no subcommand %q", p.Args[0])
	}
	_, err := io.WriteString(p.Stdout, t.Help())
	return err
}
