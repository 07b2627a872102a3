package command

import (
	"fmt"
	"strings"

	"broker/channelstore"
)

// maxNameBytes bounds the length of a command's or subcommand's name; a longer
// word from a client is not looked up.
const maxNameBytes = 32

// A command is one row of the table: a command, or a subcommand of one. Rows
// are immutable after newTable.
type command struct {
	// name is in lower case and without the container's.
	name string

	// arity is the exact number of arguments, the command's own words
	// included; negative: the least number.
	arity int

	flags      commandFlag
	categories category // beyond those that the flags imply
	tips       []string // for proxies, as Redis gives them
	keys       keySpec  // arguments that are keys, or shard channels, which Redis reports in their place

	// channels are the arguments that the user must be allowed to use.
	channels channelUse

	// inSubscriberMode: allowed on a RESP2 connection with subscriptions.
	inSubscriberMode bool

	// inTransaction: run at once inside MULTI, instead of being queued.
	inTransaction bool

	// notInMulti: refused inside MULTI.
	notInMulti bool

	// blocks: refused by EXEC, as a command that would wait.
	blocks bool

	// frequent: cheap, and sent so often that even a reading of the clock would
	// count; see timing.go.
	frequent bool

	// restricted: refused before anything else to who may not use DEBUG.
	restricted bool

	// clusterOnly: not even unknown subcommands are known to a server that is in
	// no cluster.
	clusterOnly bool

	// extension: Redis has no such command. since names the version of Redis
	// that is followed.
	extension bool

	// kind is what a command of the subscribe family subscribes to.
	kind channelstore.Kind

	// What COMMAND DOCS says. since is the version of Redis that introduced
	// the command.
	group, since, complexity, summary string
	args                              []arg

	// help are the lines of the container's HELP about this command.
	help []string

	// subs make the command a container. It may have a handler of its own for
	// the case that no subcommand is named.
	subs []*command

	run func(*call)

	// Set by newTable.
	number   int      // position among all rows, containers and subcommands alike
	fullName string   // "pubsub|numsub"
	parent   *command // nil for a command
	index    map[string]*command
}

// arityMatches reports whether n arguments, command included, are acceptable.
func (c *command) arityMatches(n int) bool {
	if c.arity < 0 {
		return n >= -c.arity
	}
	return n == c.arity
}

// acl returns all categories of the command.
func (c *command) acl() category { return c.categories | c.flags.implied() }

// A table is the registry of commands.
type table struct {
	commands []*command // without subcommands, in the order of the groups
	rows     []*command // all, by number
	index    map[string]*command
}

// newTable builds the table from the groups.
func newTable() *table {
	t := &table{index: map[string]*command{}}
	for _, group := range [][]*command{
		pubsubCommands(), connectionCommands(), transactionCommands(), serverCommands(), genericCommands(),
		stringCommands(), streamCommands(), scriptingCommands(), clusterCommands(),
	} {
		for _, c := range group {
			t.add(c)
		}
	}
	return t
}

// add registers a command and its subcommands. It panics on a row that
// contradicts itself or another one: that is a mistake in this package.
func (t *table) add(c *command) {
	t.register(c, nil, t.index)
	t.commands = append(t.commands, c)
	if len(c.subs) == 0 {
		return
	}
	c.index = make(map[string]*command, len(c.subs))
	for _, sub := range c.subs {
		if sub.group == "" {
			sub.group = c.group
		}
		t.register(sub, c, c.index)
	}
}

func (t *table) register(c, parent *command, index map[string]*command) {
	if c.name != strings.ToLower(c.name) || c.name == "" || len(c.name) > maxNameBytes {
		panic(fmt.Sprintf("command: bad name %q", c.name))
	}
	if index[c.name] != nil {
		panic(fmt.Sprintf("command: %q is in the table twice", c.name))
	}
	if c.arity == 0 || (c.run == nil) != (len(c.subs) > 0 && c.arity <= -2) {
		panic(fmt.Sprintf("command: %q: arity %d does not fit its handler", c.name, c.arity))
	}
	c.parent = parent
	c.fullName = c.name
	if parent != nil {
		c.fullName = parent.name + "|" + c.name
	}
	c.number = len(t.rows)
	t.rows = append(t.rows, c)
	index[c.name] = c
}

// lookup finds a name, in any case, in an index. It allocates nothing.
func lookup(index map[string]*command, name []byte) *command {
	if len(name) > maxNameBytes {
		return nil
	}
	var lower [maxNameBytes]byte
	for i, b := range name {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		lower[i] = b
	}
	return index[string(lower[:len(name)])]
}

// byFullName finds "command" or "command|subcommand", in any case.
func (t *table) byFullName(name string) *command {
	first, rest, isSub := strings.Cut(name, "|")
	c := lookup(t.index, []byte(first))
	if c == nil || !isSub {
		return c
	}
	return lookup(c.index, []byte(rest))
}
