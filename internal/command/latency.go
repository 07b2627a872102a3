// How long commands take.
//
// redis.io/docs/latest/commands/latency-histogram

package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"broker/resp"
	"broker/shard"
)

// latencyReport is what LATENCY DOCTOR says.
const latencyReport = "Latency events are not recorded by this server, so there is nothing to diagnose. " +
	"LATENCY HISTOGRAM and INFO latencystats tell how much time each command took.\n"

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
		summary: "Tells how long commands take. Latency events are not recorded.",
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
				name: "graph", arity: 3, flags: flags, tips: toAll,
				since: "2.8.13", complexity: "O(1)",
				summary: "Draws the records of an event: there are none.",
				args:    []arg{event},
				help: []string{
					"GRAPH <event>",
					"    Return an ASCII latency graph for the <event> class.",
				},
				run: func(c *call) {
					c.fail(fmt.Sprintf("ERR No samples available for event '%s'", echoWhole(c.args[2])))
				},
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
			{
				name: "histogram", arity: -2, flags: flags, tips: toAll,
				since: "7.0.0", complexity: "O(N) for N commands",
				summary: "Returns how the time that commands took is distributed.",
				args:    []arg{{name: "command", kind: kindString, optional: true, multiple: true}},
				help: []string{
					"HISTOGRAM [COMMAND ...]",
					"    Return a cumulative distribution of latencies in the format of a histogram for the specified command names.",
					"    If no commands are specified then all histograms are replied.",
				},
				run: (*call).latencyHistogram,
			},
			helpCommand("2.8.13", 0),
		},
	}
}

// latencyHistogram answers LATENCY HISTOGRAM. A container stands for its
// subcommands, and what was never timed, or is no command, is left out.
func (c *call) latencyHistogram() {
	names := c.args[2:]
	if len(names) > maxNames {
		c.fail(errTooManyNames)
		return
	}
	var rows []*command
	if len(names) == 0 {
		rows = c.d.table.rows
	}
	for _, name := range names {
		cmd := c.d.table.byFullName(string(name))
		if cmd == nil {
			continue
		}
		rows = append(rows, cmd)
		rows = append(rows, cmd.subs...)
	}
	s := c.session
	shard.Gather(s, cloneHistograms, func(parts [][]*histogram) {
		all := mergeHistograms(parts)
		writeHistograms(s.Reply(), rows, all)
	})
}

func writeHistograms(w *resp.Writer, rows []*command, all []*histogram) {
	timed := 0
	for _, cmd := range rows {
		if all[cmd.number] != nil {
			timed++
		}
	}
	w.Map(timed)
	for _, cmd := range rows {
		h := all[cmd.number]
		if h == nil {
			continue
		}
		w.BulkString(cmd.fullName)
		w.Map(2)
		w.BulkString("calls")
		w.Int(h.total)
		w.BulkString("histogram_usec")
		steps := h.steps()
		w.Map(len(steps))
		for _, step := range steps {
			w.Int(step.micros)
			w.Int(step.atMost)
		}
	}
}

// cloneHistograms returns copies of a loop's histograms by command.number; nil:
// the command was not timed.
func cloneHistograms(l *shard.Loop) []*histogram {
	own := l.Local().(*local)
	out := make([]*histogram, len(own.commands))
	for i, h := range own.histograms {
		if h != nil {
			h := *h
			out[i] = &h
		}
	}
	return out
}

// mergeHistograms adds up what cloneHistograms returned on each loop, and
// keeps some of it.
func mergeHistograms(parts [][]*histogram) []*histogram {
	all := parts[0]
	for _, part := range parts[1:] {
		for i, h := range part {
			switch {
			case h == nil:
			case all[i] == nil:
				all[i] = h
			default:
				all[i].merge(h)
			}
		}
	}
	return all
}

// latencyStats is a section of INFO.
func (r *report) latencyStats() {
	rt := r.d.runtime.Load()
	if !rt.LatencyTracking {
		return
	}
	for i, h := range r.times {
		if h == nil {
			continue
		}
		parts := make([]string, len(rt.LatencyPercentiles))
		for j, p := range rt.LatencyPercentiles {
			micros := float64(h.percentile(p)) / 1000
			parts[j] = "p" + formatPercentile(p) + "=" + strconv.FormatFloat(micros, 'f', 3, 64)
		}
		r.line("latency_percentiles_usec_"+r.d.table.rows[i].fullName, strings.Join(parts, ","))
	}
}

// formatPercentile prints up to six decimals, as Redis.
func formatPercentile(p float64) string {
	return strconv.FormatFloat(math.Round(p*1e6)/1e6, 'f', -1, 64)
}
