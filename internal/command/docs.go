package command

import "broker/resp"

// commandDocs answers COMMAND DOCS; unknown names are left out.
func (c *call) commandDocs() {
	names := c.args[2:]
	if len(names) > maxNames {
		c.fail(errTooManyNames)
		return
	}
	commands := c.d.table.commands
	if len(names) > 0 {
		commands = nil
		for _, name := range names {
			if cmd := c.d.table.byFullName(string(name)); cmd != nil {
				commands = append(commands, cmd)
			}
		}
	}
	w := c.reply()
	w.Map(len(commands))
	for _, cmd := range commands {
		w.BulkString(cmd.fullName)
		writeDocs(w, cmd)
	}
}

func writeDocs(w *resp.Writer, cmd *command) {
	pairs := 4
	if len(cmd.args) > 0 {
		pairs++
	}
	if len(cmd.subs) > 0 {
		pairs++
	}
	w.Map(pairs)
	writePair(w, "summary", cmd.summary)
	writePair(w, "since", cmd.since)
	writePair(w, "group", cmd.group)
	writePair(w, "complexity", cmd.complexity)
	if len(cmd.args) > 0 {
		w.BulkString("arguments")
		writeArgs(w, cmd.args)
	}
	if len(cmd.subs) > 0 {
		w.BulkString("subcommands")
		w.Map(len(cmd.subs))
		for _, sub := range cmd.subs {
			w.BulkString(sub.fullName)
			writeDocs(w, sub)
		}
	}
}

// writeArgs writes the argument list with the fields and in the order of
// redis 8.
func writeArgs(w *resp.Writer, args []arg) {
	w.Array(len(args))
	for i := range args {
		a := &args[i]
		flags := a.flags()
		pairs := 3
		for _, present := range []bool{a.kind == kindKey, a.token != "", a.since != "", len(flags) > 0} {
			if present {
				pairs++
			}
		}
		w.Map(pairs)
		writePair(w, "name", a.name)
		writePair(w, "type", string(a.kind))
		if !a.nested() {
			writePair(w, "display_text", a.name)
		}
		if a.kind == kindKey {
			w.BulkString("key_spec_index")
			w.Int(0) // no command here has two specifications
		}
		if a.token != "" {
			writePair(w, "token", a.token)
		}
		if a.since != "" {
			writePair(w, "since", a.since)
		}
		if len(flags) > 0 {
			w.BulkString("flags")
			writeSimpleSet(w, "", flags)
		}
		if a.nested() {
			w.BulkString("arguments")
			writeArgs(w, a.args)
		}
	}
}

func writePair(w *resp.Writer, key, value string) {
	w.BulkString(key)
	w.BulkString(value)
}
