package command

import "broker/resp"

// What MEMORY DOCTOR says.
const (
	memoryReport = "This server stores no keys, so there is no dataset to examine. " +
		"INFO memory tells what the process uses, and tot-mem in CLIENT LIST what each connection does.\n"
)

func moduleContainer() *command {
	return &command{
		name: "module", arity: -2,
		group: "server", since: "4.0.0", complexity: "that of the subcommand",
		summary: "Tells about modules, of which there are none.",
		subs: []*command{
			{
				name: "list", arity: 2, flags: flagAdmin | flagNoScript,
				tips:  []string{"nondeterministic_output_order"},
				since: "4.0.0", complexity: "O(1)",
				summary: "Lists the loaded modules: always none.",
				help: []string{
					"LIST",
					"    Return a list of loaded modules.",
				},
				run: always(func(w *resp.Writer) { w.Array(0) }),
			},
			helpCommand("5.0.0", 0),
		},
	}
}

func memoryContainer() *command {
	return &command{
		name: "memory", arity: -2,
		group: "server", since: "4.0.0", complexity: "that of the subcommand",
		summary: "Tells about the memory of keys, of which there are none.",
		subs: []*command{
			{
				name: "doctor", arity: 2,
				tips:  []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
				since: "4.0.0", complexity: "O(1)",
				summary: "Says where to look for the use of memory.",
				help: []string{
					"DOCTOR",
					"    Return memory problems reports.",
				},
				run: always(func(w *resp.Writer) { w.Verbatim("txt", memoryReport) }),
			},
			{
				name: "usage", arity: -3, flags: flagReadOnly,
				keys:  keySpec{first: 2, last: 2, flags: inspectKeys},
				since: "4.0.0", complexity: "O(1)",
				summary: "Returns the memory that a key takes: always null.",
				args: []arg{
					{name: "key", kind: kindKey},
					{name: "count", kind: kindInteger, token: "SAMPLES", optional: true},
				},
				help: []string{
					"USAGE <key> [SAMPLES <count>]",
					"    Return memory in bytes used by <key> and its value. Nested values are",
					"    sampled up to <count> times (default: 5, 0 means sample all).",
				},
				run: (*call).memoryUsage,
			},
			helpCommand("4.0.0", 0),
		},
	}
}

func (c *call) memoryUsage() {
	for args := c.args[3:]; len(args) > 0; args = args[2:] {
		if len(args) < 2 || !is(args[0], "SAMPLES") {
			c.fail(errSyntax)
			return
		}
		if n, ok := parseInt(args[1]); !ok {
			c.fail(errNotInteger)
			return
		} else if n < 0 {
			c.fail(errSyntax)
			return
		}
	}
	c.reply().Null()
}
