package command

import (
	"slices"
	"strings"

	"broker/internal/glob"
	"broker/resp"
)

func commandContainer() *command {
	const flags = flagLoading | flagStale
	names := []arg{{name: "command-name", kind: kindString, optional: true, multiple: true}}
	full := []arg{
		{name: "command", kind: kindString},
		{name: "arg", kind: kindString, optional: true, multiple: true},
	}
	unordered := []string{"nondeterministic_output_order"}
	row := func(name string, arity int, since, complexity, summary string, args []arg, tips, help []string, run func(*call)) *command {
		return &command{
			name: name, arity: arity, flags: flags, categories: categoryConnection, tips: tips,
			since: since, complexity: complexity, summary: summary, args: args, help: help, run: run,
		}
	}
	return &command{
		name: "command", arity: -1, flags: flags, categories: categoryConnection, tips: unordered,
		group: "server", since: "2.8.13", complexity: "O(N) for N commands of the server",
		summary: "Describes all commands.",
		help: []string{
			"(no subcommand)",
			"    Return details about all Redis commands.",
		},
		run: func(c *call) { c.writeAllInfos() },
		subs: []*command{
			row("count", 2, "2.8.13", "O(1)", "Counts the commands.", nil, nil,
				[]string{
					"COUNT",
					"    Return the total number of commands in this Redis server.",
				},
				func(c *call) { c.reply().Int(int64(len(c.d.table.commands))) }),
			row("list", -2, "7.0.0", "O(N) for N commands of the server",
				"Lists the names of all commands, or of some.",
				[]arg{{name: "filterby", kind: kindOneOf, token: "FILTERBY", optional: true, args: []arg{
					{name: "module-name", kind: kindString, token: "MODULE"},
					{name: "category", kind: kindString, token: "ACLCAT"},
					{name: "pattern", kind: kindPattern, token: "PATTERN"},
				}}}, unordered,
				[]string{
					"LIST",
					"    Return a list of all commands in this Redis server.",
				},
				(*call).commandList),
			row("info", -2, "2.8.13", "O(N) for N names",
				"Describes the named commands, or all, for programs.", names, unordered,
				[]string{
					"INFO [<command-name> ...]",
					"    Return details about multiple Redis commands.",
					"    If no command names are given, documentation details for all",
					"    commands are returned.",
				},
				(*call).commandInfo),
			row("docs", -2, "7.0.0", "O(N) for N names",
				"Describes the named commands, or all, for people.", names, unordered,
				[]string{
					"DOCS [<command-name> ...]",
					"    Return documentation details about multiple Redis commands.",
					"    If no command names are given, documentation details for all",
					"    commands are returned.",
				},
				(*call).commandDocs),
			row("getkeys", -4, "2.8.13", "O(N) for N arguments", "Returns the keys among the arguments of a command.", full, nil,
				[]string{
					"GETKEYS <full-command>",
					"    Return the keys from a full Redis command.",
				},
				(*call).commandGetKeys),
			row("getkeysandflags", -4, "7.0.0", "O(N) for N arguments", "Returns the keys among the arguments of a command, and what it does with them.", full, nil,
				[]string{
					"GETKEYSANDFLAGS <full-command>",
					"    Return the keys and the access flags from a full Redis command.",
				},
				(*call).commandGetKeysAndFlags),
			helpCommand("5.0.0", categoryConnection),
		},
	}
}

func (c *call) writeAllInfos() {
	commands := c.d.table.commands
	w := c.reply()
	w.Array(len(commands))
	for _, cmd := range commands {
		writeInfo(w, cmd)
	}
}

// commandInfo answers COMMAND INFO; an unknown name gives a null in its place.
func (c *call) commandInfo() {
	names := c.args[2:]
	switch {
	case len(names) == 0:
		c.writeAllInfos()
		return
	case len(names) > maxNames:
		c.fail(errTooManyNames)
		return
	}
	w := c.reply()
	w.Array(len(names))
	for _, name := range names {
		if cmd := c.d.table.byFullName(string(name)); cmd != nil {
			writeInfo(w, cmd)
		} else {
			w.Null()
		}
	}
}

// commandList answers COMMAND LIST, subcommands included.
func (c *call) commandList() {
	args := c.args[2:]
	want := func(*command) bool { return true }
	switch {
	case len(args) == 0:
	case len(args) != 3 || !is(args[0], "FILTERBY"):
		c.fail(errSyntax)
		return
	case is(args[1], "MODULE"):
		want = func(*command) bool { return false }
	case is(args[1], "ACLCAT"):
		category := strings.ToLower(string(args[2]))
		want = func(cmd *command) bool { return slices.Contains(cmd.acl().names(), category) }
	case is(args[1], "PATTERN"):
		pattern := string(args[2])
		want = func(cmd *command) bool { return glob.MatchFold(pattern, cmd.fullName) }
	default:
		c.fail(errSyntax)
		return
	}
	var names []string
	for _, cmd := range c.d.table.rows {
		if want(cmd) {
			names = append(names, cmd.fullName)
		}
	}
	writeStrings(c.reply(), names)
}

func writeStrings(w *resp.Writer, list []string) {
	w.Array(len(list))
	for _, s := range list {
		w.BulkString(s)
	}
}

// writeSimpleSet writes words as simple strings, each behind prefix.
func writeSimpleSet(w *resp.Writer, prefix string, words []string) {
	w.Set(len(words))
	for _, word := range words {
		w.Simple(prefix + word)
	}
}

// writeInfo writes the ten elements of COMMAND INFO.
func writeInfo(w *resp.Writer, cmd *command) {
	w.Array(10)
	w.BulkString(cmd.fullName)
	w.Int(int64(cmd.arity))
	writeSimpleSet(w, "", cmd.flags.names())
	first, last, step := cmd.keys.positions()
	w.Int(int64(first))
	w.Int(int64(last))
	w.Int(int64(step))
	writeSimpleSet(w, "@", cmd.acl().names())
	w.Set(len(cmd.tips))
	for _, tip := range cmd.tips {
		w.BulkString(tip)
	}
	writeKeySpecs(w, &cmd.keys)
	if len(cmd.subs) == 0 {
		w.Set(0)
		return
	}
	w.Array(len(cmd.subs))
	for _, sub := range cmd.subs {
		writeInfo(w, sub)
	}
}
