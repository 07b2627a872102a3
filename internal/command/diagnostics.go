package command

import "broker/resp"

// What LATENCY DOCTOR and MEMORY DOCTOR say.
const (
	latencyReport = "Latency events are not recorded by this server, so there is nothing to diagnose. " +
		"INFO commandstats tells how much time each command took.\n"
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

// latencyContainer answers as a server with latency-monitor-threshold 0, which
// records no event.
func latencyContainer() *command {
	const flags = flagAdmin | flagNoScript | flagLoading | flagStale
	toAll := []string{"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"}
	event := arg{name: "event", kind: kindString}
	events := arg{name: "event", kind: kindString, optional: true, multiple: true}
	return &command{
		name: "latency", arity: -2,
		group: "server", since: "2.8.13", complexity: "that of the subcommand",
		summary: "Tells about latency events, which are not recorded.",
		subs: []*command{
			{
				name: "doctor", arity: 2, flags: flags, tips: toAll,
				since: "2.8.13", complexity: "O(1)",
				summary: "Says that latency events are not recorded, and where to look instead.",
				help: []string{
					"DOCTOR",
					"    Return a human readable latency analysis report.",
				},
				run: always(func(w *resp.Writer) { w.Verbatim("txt", latencyReport) }),
			},
			{
				name: "history", arity: 3, flags: flags, tips: toAll,
				since: "2.8.13", complexity: "O(1)",
				summary: "Returns the records of an event: always none.",
				args:    []arg{event},
				help: []string{
					"HISTORY <event>",
					"    Return time-latency samples for the <event> class.",
				},
				run: always(func(w *resp.Writer) { w.Array(0) }),
			},
			{
				name: "latest", arity: 2, flags: flags, tips: toAll,
				since: "2.8.13", complexity: "O(1)",
				summary: "Returns the last record of each event: always none.",
				help: []string{
					"LATEST",
					"    Return the latest latency samples for all events.",
				},
				run: always(func(w *resp.Writer) { w.Array(0) }),
			},
			{
				name: "reset", arity: -2, flags: flags,
				tips:  []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
				since: "2.8.13", complexity: "O(1)",
				summary: "Removes the records of all events, or of some, and counts those events: always 0.",
				args:    []arg{events},
				help: []string{
					"RESET [<event> ...]",
					"    Reset latency data of one or more <event> classes.",
					"    (default: reset all data for all event classes)",
				},
				run: always(func(w *resp.Writer) { w.Int(0) }),
			},
			helpCommand("2.8.13", 0),
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
