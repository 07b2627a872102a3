// The slow log: the latest commands that took long.
//
// redis.io/docs/latest/commands/slowlog

package command

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"broker/shard"
)

// What the slow log keeps of a command, as Redis.
const (
	slowArgBytes = 128 // of an argument
	slowArgCount = 32  // arguments, the last of which says how many were left out
)

// A slowlog holds the slow log of all loops. Its methods may be called from
// any goroutine.
type slowlog struct {
	mu sync.Mutex
	// Guarded by mu.
	entries []slowEntry // the oldest first
	nextID  int64
}

// A slowEntry is immutable once it is in the log.
type slowEntry struct {
	id         int64
	at         time.Time
	nanos      int64
	args       []string
	addr, name string // of the client
}

// add appends an entry, to which it gives its number, and drops the oldest
// ones beyond maxLen.
func (l *slowlog) add(e slowEntry, maxLen int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.id = l.nextID
	l.nextID++
	l.entries = append(l.entries, e)
	if over := len(l.entries) - maxLen; over > 0 {
		clear(l.entries[:over]) // the array lives until append needs a new one
		l.entries = l.entries[over:]
	}
}

// newest returns up to n entries, the newest first.
func (l *slowlog) newest(n int64) []slowEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.entries[len(l.entries)-int(min(n, int64(len(l.entries)))):])
	slices.Reverse(out)
	return out
}

func (l *slowlog) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// reset empties the log; the numbering goes on.
func (l *slowlog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// noteSlow puts a command of s into the slow log.
func (d *Dispatcher) noteSlow(s *shard.Session, args []string, nanos int64) {
	d.slowlog.add(slowEntry{
		at:    time.Now(),
		nanos: nanos,
		args:  args,
		addr:  s.Addr(),
		name:  s.Peek().Name,
	}, d.runtime.Load().SlowlogMaxLen)
}

// slowArgs returns of the arguments what the slow log keeps.
func slowArgs(args [][]byte) []string {
	out := make([]string, min(len(args), slowArgCount))
	for i := range out {
		out[i] = slowArg(args[i][:min(len(args[i]), slowArgBytes)], len(args[i]))
	}
	if len(args) > slowArgCount {
		left := len(args) - slowArgCount + 1
		out[slowArgCount-1] = "... (" + strconv.Itoa(left) + " more arguments)"
	}
	return out
}

// slowArg returns what is kept of an argument of which head is the beginning.
func slowArg(head []byte, length int) string {
	if length <= len(head) {
		return string(head)
	}
	return string(head) + "... (" + strconv.Itoa(length-len(head)) + " more bytes)"
}

func slowlogContainer() *command {
	const flags = flagAdmin | flagLoading | flagStale
	return &command{
		name: "slowlog", arity: -2,
		group: "server", since: "2.2.12", complexity: "that of the subcommand",
		summary: "Tells about commands that took long.",
		subs: []*command{
			{
				name: "get", arity: -2, flags: flags,
				tips:  []string{"request_policy:all_nodes", "nondeterministic_output"},
				since: "2.2.12", complexity: "O(N) for N entries",
				summary: "Returns the newest entries of the slow log.",
				args:    []arg{{name: "count", kind: kindInteger, optional: true}},
				help: []string{
					"GET [<count>]",
					"    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
					"    Entries are made of:",
					"    id, timestamp, time in microseconds, arguments array, client IP and port,",
					"    client name",
				},
				run: (*call).slowlogGet,
			},
			{
				name: "len", arity: 2, flags: flags,
				tips:  []string{"request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"},
				since: "2.2.12", complexity: "O(1)",
				summary: "Counts the entries of the slow log.",
				help: []string{
					"LEN",
					"    Return the length of the slowlog.",
				},
				run: func(c *call) { c.reply().Int(int64(c.d.slowlog.length())) },
			},
			{
				name: "reset", arity: 2, flags: flags,
				tips:  []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
				since: "2.2.12", complexity: "O(N) for N entries",
				summary: "Empties the slow log.",
				help: []string{
					"RESET",
					"    Reset the slowlog.",
				},
				run: func(c *call) {
					c.d.slowlog.reset()
					c.reply().OK()
				},
			},
			helpCommand("6.2.0", 0),
		},
	}
}

// slowlogDefault is how many entries SLOWLOG GET returns unasked.
const slowlogDefault = 10

func (c *call) slowlogGet() {
	count := int64(slowlogDefault)
	switch {
	case len(c.args) > 3:
		c.fail(unknownOrArity(c.cmd.parent, c.args[1]))
		return
	case len(c.args) == 3:
		n, ok := parseInt(c.args[2])
		if !ok || n < -1 {
			c.fail(errSlowlogCount)
			return
		}
		count = n
		if n == -1 {
			count = int64(c.d.slowlog.length())
		}
	}
	entries := c.d.slowlog.newest(count)
	w := c.reply()
	w.Array(len(entries))
	for _, e := range entries {
		w.Array(6)
		w.Int(e.id)
		w.Int(e.at.Unix())
		w.Int(e.nanos / 1000)
		writeStrings(w, e.args)
		w.BulkString(e.addr)
		w.BulkString(e.name)
	}
}
