package command

import "broker/resp"

// A keySpec says which arguments of a command are keys, so that a proxy or a
// cluster client can route it. The zero value means none.
type keySpec struct {
	// first and last are positions among the arguments, the command's own first
	// word at 0; last counts from the end when negative.
	first, last int

	// counted: the argument at first is the number of keys, which follow it;
	// last means nothing.
	counted bool

	// flags are Redis's words for what is done with the keys.
	flags []string
}

// The flags of the specifications here.
var (
	notKeys     = []string{"not_key"} // shard channels, which are routed like keys
	readKeys    = []string{"RO", "access"}
	inspectKeys = []string{"RO"} // about the key, not about the value
	anyUse      = []string{"RW", "access", "update"}
)

// oneKey is the specification of the many commands with one key in front.
func oneKey(flags []string) keySpec { return keySpec{first: 1, last: 1, flags: flags} }

// hasKeys reports whether the arguments are keys, as opposed to shard channels.
func (k *keySpec) hasKeys() bool { return k.first > 0 && k.flags[0] != notKeys[0] }

// positions returns the older form of a specification, which has no words for
// a counted one.
func (k *keySpec) positions() (first, last, step int) {
	if k.first == 0 || k.counted {
		return 0, 0, 0
	}
	return k.first, k.last, 1
}

// find returns the keys among the arguments of a command whose arity matches;
// none where the number of keys makes no sense.
func (k *keySpec) find(args [][]byte) [][]byte {
	if !k.counted {
		last := k.last
		if last < 0 {
			last += len(args)
		}
		return args[k.first : last+1]
	}
	rest := args[k.first+1:]
	n, ok := parseInt(args[k.first])
	if !ok || n < 0 || n > int64(len(rest)) {
		return nil
	}
	return rest[:n]
}

// keysOf returns the row and the keys of the command that follows COMMAND
// GETKEYS, or answers with an error and reports false.
func (c *call) keysOf() (*command, [][]byte, bool) {
	args := c.args[2:]
	cmd := lookup(c.d.table.index, args[0])
	if cmd != nil && cmd.index != nil && len(args) > 1 {
		cmd = lookup(cmd.index, args[1])
	}
	switch {
	case cmd == nil:
		c.fail(errInvalidCommand)
	case !cmd.keys.hasKeys():
		c.fail(errNoKeys)
	case !cmd.arityMatches(len(args)):
		c.fail(errInvalidArity)
	default:
		return cmd, cmd.keys.find(args), true
	}
	return nil, nil, false
}

// commandGetKeys answers COMMAND GETKEYS. Redis does not count shard channels
// as keys here.
func (c *call) commandGetKeys() {
	_, keys, ok := c.keysOf()
	if !ok {
		return
	}
	w := c.reply()
	w.Array(len(keys))
	for _, key := range keys {
		w.Bulk(key)
	}
}

// commandGetKeysAndFlags answers COMMAND GETKEYSANDFLAGS.
func (c *call) commandGetKeysAndFlags() {
	cmd, keys, ok := c.keysOf()
	if !ok {
		return
	}
	w := c.reply()
	w.Array(len(keys))
	for _, key := range keys {
		w.Array(2)
		w.Bulk(key)
		writeSimpleSet(w, "", cmd.keys.flags)
	}
}

// writeKeySpecs writes the specification in the form of Redis 7.
func writeKeySpecs(w *resp.Writer, k *keySpec) {
	if k.first == 0 {
		w.Set(0)
		return
	}
	w.Set(1)
	w.Map(3)
	w.BulkString("flags")
	writeSimpleSet(w, "", k.flags)
	w.BulkString("begin_search")
	writeSpec(w, "index", []specField{{"index", k.first}})
	w.BulkString("find_keys")
	if k.counted {
		writeSpec(w, "keynum", []specField{{"keynumidx", 0}, {"firstkey", 1}, {"keystep", 1}})
		return
	}
	last := k.last
	if last > 0 {
		last -= k.first // counted from the first one
	}
	writeSpec(w, "range", []specField{{"lastkey", last}, {"keystep", 1}, {"limit", 0}})
}

type specField struct {
	name  string
	value int
}

func writeSpec(w *resp.Writer, kind string, fields []specField) {
	w.Map(2)
	w.BulkString("type")
	w.BulkString(kind)
	w.BulkString("spec")
	w.Map(len(fields))
	for _, f := range fields {
		w.BulkString(f.name)
		w.Int(int64(f.value))
	}
}
