// What memory is used for.
//
// redis.io/docs/latest/commands/memory-stats

package command

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"strings"

	"broker/resp"
	"broker/shard"
)

// memoryReport is what MEMORY DOCTOR says.
const memoryReport = "This server stores no keys, so there is no dataset to examine. " +
	"INFO memory and MEMORY STATS tell what the process uses, and tot-mem in CLIENT LIST what each connection does.\n"

func memoryContainer() *command {
	return &command{
		name: "memory", arity: -2,
		group: "server", since: "4.0.0", complexity: "that of the subcommand",
		summary: "Tells what memory is used for.",
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
				name: "malloc-stats", arity: 2,
				tips:  []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
				since: "4.0.0", complexity: "O(1)",
				summary: "Describes the memory of the Go runtime, in its own words.",
				help: []string{
					"MALLOC-STATS",
					"    Return internal statistics report from the memory allocator.",
				},
				run: func(c *call) { c.reply().Verbatim("txt", mallocStats()) },
			},
			{
				name: "purge", arity: 2,
				tips:  []string{"request_policy:all_shards", "response_policy:all_succeeded"},
				since: "4.0.0", complexity: "that of a garbage collection",
				summary: "Gives memory that is free back to the operating system.",
				help: []string{
					"PURGE",
					"    Attempt to purge dirty pages for reclamation by the allocator.",
				},
				run: (*call).memoryPurge,
			},
			{
				name: "stats", arity: 2,
				tips:  []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
				since: "4.0.0", complexity: "O(N) for N connections",
				summary: "Tells how much memory is used, and for what.",
				help: []string{
					"STATS",
					"    Return information about the memory usage of the server.",
				},
				run: (*call).memoryStats,
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

// memoryPurge answers MEMORY PURGE. It waits for a garbage collection, during
// which the loops go on.
func (c *call) memoryPurge() {
	s := c.session
	shard.Offload(s, func() struct{} {
		debug.FreeOSMemory()
		return struct{}{}
	}, func(struct{}) { s.Reply().OK() })
}

// clientMemory is what one loop's sessions are charged with, in bytes.
type clientMemory struct{ normal, pubsub int64 }

// memoryStats answers MEMORY STATS in Redis's order. What cannot exist here is
// zero; clients.pubsub is an addition: Redis counts subscribers as normal.
func (c *call) memoryStats() {
	d, s := c.d, c.session
	shard.Gather(s, func(l *shard.Loop) clientMemory {
		var m clientMemory
		l.Sessions(func(o *shard.Session) bool {
			in := o.Info()
			if in.Sub+in.PSub+in.SSub > 0 {
				m.pubsub += in.TotMem
			} else {
				m.normal += in.TotMem
			}
			return true
		})
		return m
	}, func(parts []clientMemory) {
		var clients clientMemory
		for _, p := range parts {
			clients.normal += p.normal
			clients.pubsub += p.pubsub
		}
		d.writeMemoryStats(s, clients)
	})
}

func (d *Dispatcher) writeMemoryStats(s *shard.Session, clients clientMemory) {
	m := readMemory()
	peak := d.notePeak(m.used)
	objects, heap := heapMemory()
	w := s.Reply()
	fields := []struct {
		name  string
		value any // int64 or float64
	}{
		{"peak.allocated", peak},
		{"total.allocated", m.used},
		{"startup.allocated", d.startMemory},
		{"replication.backlog", int64(0)},
		{"clients.slaves", int64(0)},
		{"clients.normal", clients.normal},
		{"clients.pubsub", clients.pubsub},
		{"cluster.links", int64(0)},
		{"aof.buffer", int64(0)},
		{"lua.caches", int64(0)},
		{"functions.caches", int64(0)},
		{"overhead.total", min(m.used, d.startMemory+clients.normal+clients.pubsub)},
		{"keys.count", int64(0)},
		{"keys.bytes-per-key", int64(0)},
		{"dataset.bytes", int64(0)},
		{"dataset.percentage", 0.0},
		{"peak.percentage", 100 * ratio(m.used, peak)},
		{"allocator.allocated", objects},
		{"allocator.active", heap},
		{"allocator.resident", m.mapped},
		{"allocator-fragmentation.ratio", ratio(heap, objects)},
		{"allocator-fragmentation.bytes", heap - objects},
		{"allocator-rss.ratio", ratio(m.mapped, heap)},
		{"allocator-rss.bytes", m.mapped - heap},
		{"rss-overhead.ratio", ratio(m.resident, m.mapped)},
		{"rss-overhead.bytes", m.resident - m.mapped},
		{"fragmentation", ratio(m.resident, m.used)},
		{"fragmentation.bytes", m.resident - m.used},
	}
	w.Map(len(fields))
	for _, f := range fields {
		w.BulkString(f.name)
		switch v := f.value.(type) {
		case int64:
			w.Int(v)
		case float64:
			w.Double(v)
		}
	}
}

func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// heapMemory returns the bytes of the objects on the heap, and of the spans
// that hold them.
func heapMemory() (objects, spans int64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	objects = int64(samples[0].Value.Uint64())
	return objects, objects + int64(samples[1].Value.Uint64())
}

// mallocStats prints what the Go runtime tells about memory and its
// collection, but for the distributions.
func mallocStats() string {
	var samples []metrics.Sample
	for _, m := range metrics.All() {
		if strings.HasPrefix(m.Name, "/memory/") || strings.HasPrefix(m.Name, "/gc/") {
			samples = append(samples, metrics.Sample{Name: m.Name})
		}
	}
	metrics.Read(samples)
	var text strings.Builder
	for _, s := range samples {
		switch s.Value.Kind() {
		case metrics.KindUint64:
			fmt.Fprintf(&text, "%s %d\n", s.Name, s.Value.Uint64())
		case metrics.KindFloat64:
			fmt.Fprintf(&text, "%s %g\n", s.Name, s.Value.Float64())
		}
	}
	return text.String()
}
