// Keys. There are none and none can be made: what reads answers as an empty
// Redis would, because clients and tools probe with it, and what writes is an
// unknown command.
//
// redis.io/docs/latest/commands/?group=generic

package command

import "broker/resp"

// always returns a handler with one answer.
func always(write func(*resp.Writer)) func(*call) {
	return func(c *call) { write(c.reply()) }
}

func genericCommands() []*command {
	key := []arg{{name: "key", kind: kindKey}}
	lifetime := func(name, since, unit string) *command {
		return &command{
			name: name, arity: 2, flags: flagReadOnly | flagFast, categories: categoryKeyspace, keys: oneKey(readKeys),
			tips:  []string{"nondeterministic_output"},
			group: "generic", since: since, complexity: "O(1)",
			summary: "Returns the remaining life of a key in " + unit + ": always -2, no such key.",
			args:    key,
			run:     always(func(w *resp.Writer) { w.Int(-2) }),
		}
	}
	return []*command{
		{
			name: "exists", arity: -2, flags: flagReadOnly | flagFast, categories: categoryKeyspace,
			keys:  keySpec{first: 1, last: -1, flags: inspectKeys},
			tips:  []string{"request_policy:multi_shard", "response_policy:agg_sum"},
			group: "generic", since: "1.0.0", complexity: "O(1)",
			summary: "Counts the keys that exist: always 0.",
			args:    []arg{{name: "key", kind: kindKey, multiple: true}},
			run:     always(func(w *resp.Writer) { w.Int(0) }),
		},
		lifetime("ttl", "1.0.0", "seconds"),
		lifetime("pttl", "2.6.0", "milliseconds"),
		{
			name: "type", arity: 2, flags: flagReadOnly | flagFast, categories: categoryKeyspace, keys: oneKey(inspectKeys),
			group: "generic", since: "1.0.0", complexity: "O(1)",
			summary: "Returns the type of a key's value: always none.",
			args:    key,
			run:     always(func(w *resp.Writer) { w.Simple("none") }),
		},
		{
			name: "keys", arity: 2, flags: flagReadOnly, categories: categoryKeyspace | categoryDangerous,
			tips:  []string{"request_policy:all_shards", "nondeterministic_output_order"},
			group: "generic", since: "1.0.0", complexity: "O(1)",
			summary: "Lists the keys whose names match: always none.",
			args:    []arg{{name: "pattern", kind: kindPattern}},
			run:     always(func(w *resp.Writer) { w.Array(0) }),
		},
		{
			name: "scan", arity: -2, flags: flagReadOnly, categories: categoryKeyspace,
			tips:  []string{"nondeterministic_output", "request_policy:special"},
			group: "generic", since: "2.8.0", complexity: "O(1)",
			summary: "Walks over the keys: ends at once.",
			args: []arg{
				{name: "cursor", kind: kindInteger},
				{name: "pattern", kind: kindPattern, token: "MATCH", optional: true},
				{name: "count", kind: kindInteger, token: "COUNT", optional: true},
				{name: "type", kind: kindString, token: "TYPE", since: "6.0.0", optional: true},
			},
			run: (*call).scan,
		},
		{
			name: "randomkey", arity: 1, flags: flagReadOnly, categories: categoryKeyspace,
			tips:  []string{"request_policy:all_shards", "nondeterministic_output"},
			group: "generic", since: "1.0.0", complexity: "O(1)",
			summary: "Returns a key: always null.",
			run:     always((*resp.Writer).Null),
		},
		{
			name: "wait", arity: 3, flags: flagNoScript, categories: categoryConnection,
			tips:  []string{"request_policy:all_shards", "response_policy:agg_min"},
			group: "generic", since: "3.0.0", complexity: "O(1)",
			summary: "Counts the replicas that have confirmed all writes: 0, without waiting.",
			args:    []arg{{name: "numreplicas", kind: kindInteger}, {name: "timeout", kind: kindInteger}},
			run:     (*call).wait,
		},
	}
}

func stringCommands() []*command {
	return []*command{
		{
			name: "get", arity: 2, flags: flagReadOnly | flagFast, categories: categoryString, keys: oneKey(readKeys),
			group: "string", since: "1.0.0", complexity: "O(1)",
			summary: "Returns the value of a key: always null.",
			args:    []arg{{name: "key", kind: kindKey}},
			run:     always((*resp.Writer).Null),
		},
		{
			name: "mget", arity: -2, flags: flagReadOnly | flagFast, categories: categoryString,
			keys:  keySpec{first: 1, last: -1, flags: readKeys},
			tips:  []string{"request_policy:multi_shard"},
			group: "string", since: "1.0.0", complexity: "O(N) for N keys",
			summary: "Returns the values of keys: a null for each.",
			args:    []arg{{name: "key", kind: kindKey, multiple: true}},
			run:     (*call).mget,
		},
		{
			name: "strlen", arity: 2, flags: flagReadOnly | flagFast, categories: categoryString, keys: oneKey(inspectKeys),
			group: "string", since: "2.2.0", complexity: "O(1)",
			summary: "Returns the length of a value: always 0.",
			args:    []arg{{name: "key", kind: kindKey}},
			run:     always(func(w *resp.Writer) { w.Int(0) }),
		},
	}
}

func streamCommands() []*command {
	return []*command{
		{
			name: "xrange", arity: -4, flags: flagReadOnly, categories: categoryStream, keys: oneKey(readKeys),
			group: "stream", since: "5.0.0", complexity: "O(1)",
			summary: "Returns the entries of a stream within a range of ids: always none.",
			args: []arg{
				{name: "key", kind: kindKey},
				{name: "start", kind: kindString},
				{name: "end", kind: kindString},
				{name: "count", kind: kindInteger, token: "COUNT", optional: true},
			},
			run: (*call).xrange,
		},
		{
			name: "xlen", arity: 2, flags: flagReadOnly | flagFast, categories: categoryStream, keys: oneKey(inspectKeys),
			group: "stream", since: "5.0.0", complexity: "O(1)",
			summary: "Counts the entries of a stream: always 0.",
			args:    []arg{{name: "key", kind: kindKey}},
			run:     always(func(w *resp.Writer) { w.Int(0) }),
		},
	}
}

func dbSizeCommand() *command {
	return &command{
		name: "dbsize", arity: 1, flags: flagReadOnly | flagFast, categories: categoryKeyspace,
		tips:  []string{"request_policy:all_shards", "response_policy:agg_sum"},
		group: "server", since: "1.0.0", complexity: "O(1)",
		summary: "Counts the keys of the database: always 0.",
		run:     always(func(w *resp.Writer) { w.Int(0) }),
	}
}

func flushCommand(name, summary string) *command {
	return &command{
		name: name, arity: -1, flags: flagWrite, categories: categoryKeyspace | categoryDangerous,
		tips:  []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		group: "server", since: "1.0.0", complexity: "O(1)",
		summary: summary,
		args:    flushMode,
		run: func(c *call) {
			if len(c.args) > 2 || len(c.args) == 2 && !isFlushMode(c.args[1]) {
				c.fail(errSyntax)
				return
			}
			c.reply().OK()
		},
	}
}

var flushMode = []arg{{name: "flush-type", kind: kindOneOf, since: "6.2.0", optional: true, args: []arg{
	{name: "async", kind: kindToken, token: "ASYNC"},
	{name: "sync", kind: kindToken, token: "SYNC"},
}}}

func isFlushMode(word []byte) bool { return is(word, "SYNC") || is(word, "ASYNC") }

func (c *call) mget() {
	w := c.reply()
	w.Array(len(c.args) - 1)
	for range c.args[1:] {
		w.Null()
	}
}

func (c *call) scan() {
	if _, ok := parseUint(cString(c.args[1])); !ok {
		c.fail(errCursor)
		return
	}
	for args := c.args[2:]; len(args) > 0; args = args[2:] {
		switch {
		case len(args) < 2:
			c.fail(errSyntax)
			return
		case is(args[0], "COUNT"):
			if n, ok := parseInt(args[1]); !ok {
				c.fail(errNotInteger)
				return
			} else if n < 1 {
				c.fail(errSyntax)
				return
			}
		case is(args[0], "MATCH"), is(args[0], "TYPE"):
		default:
			c.fail(errSyntax)
			return
		}
	}
	w := c.reply()
	w.Array(2)
	w.BulkString("0")
	w.Array(0)
}

// wait answers WAIT. Redis would wait for replicas to appear; here none can.
func (c *call) wait() {
	if _, ok := parseInt(c.args[1]); !ok {
		c.fail(errNotInteger)
		return
	}
	switch timeout, ok := parseInt(c.args[2]); {
	case !ok:
		c.fail(errTimeout)
	case timeout < 0:
		c.fail(errTimeoutNegative)
	default:
		c.reply().Int(0)
	}
}
