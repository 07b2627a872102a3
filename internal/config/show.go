package config

import (
	"fmt"
	"strings"

	"broker/internal/glob"
)

// A Pair is one parameter and its value in Redis's format.
type Pair struct {
	Name, Value string
}

// Get returns the parameters whose name matches pattern, a glob in which
// case does not count, in the order of the table. Values are as CONFIG GET
// prints them: memory in bytes, permissions in octal, times in seconds. Among
// them are parameters of Redis whose value cannot be another one here, such as
// appendonly, and those without effect, which have Redis's default until
// they are set. The caller owns the result; nil means that none matched.
func (c *Config) Get(pattern string) []Pair {
	var pairs []Pair
	for _, p := range table() {
		if p.isShown(c) && glob.MatchFold(pattern, p.name) && (!p.hidden || strings.EqualFold(pattern, p.name)) {
			pairs = append(pairs, Pair{Name: p.name, Value: p.get(c)})
		}
	}
	return pairs
}

// IsSecret reports whether a parameter's values are for nobody else to see, in
// a log for example. Case does not count.
func IsSecret(name string) bool {
	p := lookup(table(), name)
	return p != nil && p.secret
}

// isShown reports whether CONFIG GET knows the row.
func (p *parameter) isShown(c *Config) bool { return p.get != nil && !p.lines && p.isKept(c) }

// Help returns the text for --help, made from the table. It ends with a
// newline.
func Help() string {
	const width = 78
	var b strings.Builder
	b.WriteString(`Usage: broker [FILE] [--name value ...]
       broker -h | --help
       broker -v | --version

A Redis-compatible pub/sub broker. Parameters have Redis's names and formats;
--name=value works as well. Sizes take the units b, k, kb, m, mb, g and gb.

FILE is in redis.conf's syntax; - is standard input. The environment overrides
it (BROKER_TCP_BACKLOG is tcp-backlog), and the command line overrides both.

`)
	for _, p := range settings() {
		fmt.Fprintf(&b, "  --%s %s\n", p.name, p.args)
		def := p.def
		if def == "" {
			def = "none"
		}
		if p.atStart {
			def += "; at start only"
		}
		wrap(&b, "      ", p.doc+" (default: "+def+")", width)
	}
	return b.String()
}

// wrap writes text in lines of at most width bytes where its words allow,
// each after the indent.
func wrap(b *strings.Builder, indent, text string, width int) {
	used := 0
	for _, word := range strings.Fields(text) {
		switch {
		case used == 0:
			b.WriteString(indent)
			used = len(indent)
		case used+1+len(word) > width:
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += len(word)
	}
	b.WriteByte('\n')
}
