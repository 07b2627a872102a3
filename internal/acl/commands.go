package acl

import (
	"fmt"
	"strings"
)

// categoryNames are Redis's categories in Redis's order.
var categoryNames = [...]string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo",
	"stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
}

// A categorySet has a bit for each of categoryNames.
type categorySet uint32

// categoryOf returns the bit of a category's name, in any case; 0: there is
// none of that name.
func categoryOf(name string) categorySet {
	for i, n := range categoryNames {
		if equalFold(n, name) {
			return 1 << i
		}
	}
	return 0
}

// A Command is a command, or a subcommand, that rules may allow or forbid.
type Command struct {
	// Name is the full name in lower case, as "publish" or "pubsub|numsub".
	Name string

	// Number says which command a check is about. Numbers begin at 0 and
	// leave no gaps.
	Number int

	// Categories are names without "@".
	Categories []string

	// NoAuth makes the command one that every client may run, whatever the
	// rules say.
	NoAuth bool
}

// A catalogue knows the names that rules may contain. It is immutable.
type catalogue struct {
	all    []Command // by number
	sets   []categorySet
	byName map[string]int   // full name → number
	subs   map[string][]int // name of a container → its subcommands
	// foreign are Redis's names that are none of ours: true for a container.
	foreign map[string]bool
}

// newCatalogue returns a catalogue of the commands. It panics on numbers that
// are not 0 to len(commands)-1, each once, on a name that is there twice and on
// a category that does not exist, all of which are mistakes of the caller's.
func newCatalogue(commands []Command) *catalogue {
	c := &catalogue{
		all:     make([]Command, len(commands)),
		sets:    make([]categorySet, len(commands)),
		byName:  make(map[string]int, len(commands)),
		subs:    map[string][]int{},
		foreign: map[string]bool{},
	}
	for _, cmd := range commands {
		if cmd.Number < 0 || cmd.Number >= len(commands) || c.all[cmd.Number].Name != "" || cmd.Name == "" {
			panic(fmt.Sprintf("acl: command %q has no number of its own", cmd.Name))
		}
		if _, twice := c.byName[cmd.Name]; twice {
			panic(fmt.Sprintf("acl: command %q is there twice", cmd.Name))
		}
		for _, name := range cmd.Categories {
			set := categoryOf(name)
			if set == 0 {
				panic(fmt.Sprintf("acl: command %q is in category %q, which does not exist", cmd.Name, name))
			}
			c.sets[cmd.Number] |= set
		}
		c.all[cmd.Number] = cmd
		c.byName[cmd.Name] = cmd.Number
	}
	for _, cmd := range c.all {
		if container, _, isSub := strings.Cut(cmd.Name, "|"); isSub {
			c.subs[container] = append(c.subs[container], cmd.Number)
		}
	}
	for _, name := range strings.Fields(redisNames) {
		if _, ours := c.byName[name]; !ours {
			c.foreign[name] = c.foreign[name]
		}
		if container, _, isSub := strings.Cut(name, "|"); isSub {
			if _, ours := c.byName[container]; !ours {
				c.foreign[container] = true
			}
		}
	}
	return c
}

// find looks a full name up, in lower case. number is -1 for a name that only
// Redis has a command for.
func (c *catalogue) find(name string) (number int, known bool) {
	if n, ours := c.byName[name]; ours {
		return n, true
	}
	_, known = c.foreign[name]
	return -1, known
}

// isContainer reports whether a known command has subcommands.
func (c *catalogue) isContainer(name string) bool {
	return len(c.subs[name]) > 0 || c.foreign[name]
}

// cString returns s up to its first NUL: the part that Redis shows of it.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

// equalFold is strings.EqualFold for ASCII letters only, as C's strcasecmp.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// toLower is strings.ToLower for ASCII letters only.
func toLower(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = lower(b[i])
	}
	return string(b)
}
