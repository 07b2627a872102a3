// What Redis does not tell: who is slow, what a channel carries, who listens.

package command

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"broker/channelstore"
	"broker/shard"
)

// observeCommands are the subcommands of PUBSUB that Redis does not have.
// Those that show who is connected are administrative, as CLIENT LIST is.
func observeCommands() []*command {
	const flags = flagLoading | flagStale
	return []*command{
		{
			name: "slow", arity: -2, flags: flags | flagAdmin, since: "8.0.6", extension: true,
			complexity: "O(N log N) for N connections",
			summary:    "Lists the subscribers that do not take what they are owed, the one that is owed most first.",
			args:       []arg{{name: "count", kind: kindInteger, token: "COUNT", optional: true}},
			help: []string{
				"SLOW [COUNT <count>]",
				"    Return the subscribers that are behind (default: 10), worst first.",
			},
			run: (*call).listSlow,
		},
		{
			name: "stats", arity: -2, flags: flags, since: "8.0.6", extension: true,
			complexity: "O(N) for N channels",
			summary:    "Returns the traffic of channels: of the named ones, or of the busiest.",
			args:       []arg{{name: "channel", kind: kindString, optional: true, multiple: true}},
			help: []string{
				"STATS [<channel> ...]",
				"    Return messages, bytes, receivers and rates of the specified channels",
				"    (default: the busiest).",
			},
			run: (*call).channelStats,
		},
		{
			name: "subscribers", arity: -3, flags: flags | flagAdmin, since: "8.0.6", extension: true,
			complexity: "O(N) for N subscribers of the channel",
			summary:    "Lists who is subscribed to a channel, patterns not counted.",
			args: []arg{
				{name: "channel", kind: kindString},
				{name: "count", kind: kindInteger, token: "COUNT", optional: true},
			},
			help: []string{
				"SUBSCRIBERS <channel> [COUNT <count>]",
				"    Return the client IDs and addresses of the subscribers (default: at most 1000).",
			},
			run: (*call).listSubscribers,
		},
	}
}

const (
	defaultSlowCount       = 10
	defaultSubscriberCount = 1000
	busiestChannels        = 16

	// maxListed bounds what one of these commands lists.
	maxListed = 100_000
)

// count reads COUNT n at the end of the arguments.
func (c *call) count(options [][]byte, standard int) (n int, ok bool) {
	switch {
	case len(options) == 0:
		return standard, true
	case len(options) != 2 || !is(options[0], "COUNT"):
		c.fail(errSyntax)
		return 0, false
	}
	v, isInt := parseInt(options[1])
	switch {
	case !isInt:
		c.fail(errNotInteger)
	case v < 1 || v > maxListed:
		c.fail(errListCount)
	default:
		return int(v), true
	}
	return 0, false
}

// A slowSession describes a session that is behind.
type slowSession struct {
	id                   uint64
	addr, name, user     string
	queued, dropped, ms  int64
	policy               string
	sub, psub, ssub, oll int
}

// listSlow answers PUBSUB SLOW.
func (c *call) listSlow() {
	n, ok := c.count(c.args[2:], defaultSlowCount)
	if !ok {
		return
	}
	s := c.session
	shard.Gather(s, func(l *shard.Loop) []slowSession {
		var slow []slowSession
		l.Sessions(func(o *shard.Session) bool {
			behind := o.BehindFor()
			if behind == 0 || !o.Subscribed() {
				return true
			}
			in := o.Info()
			policy, _ := o.SlowPolicy()
			slow = append(slow, slowSession{
				id: in.ID, addr: in.Addr, name: in.Attrs.Name, user: userName(o),
				queued: o.OwedBytes(), dropped: o.Dropped(), ms: behind.Milliseconds(), policy: policy.Kind.String(),
				sub: in.Sub, psub: in.PSub, ssub: in.SSub,
			})
			return true
		})
		return worst(slow, n)
	}, func(parts [][]slowSession) {
		all := worst(slices.Concat(parts...), n)
		w := s.Reply()
		w.Array(len(all))
		for i := range all {
			o := &all[i]
			w.Map(11)
			for _, f := range []struct{ name, value string }{{"addr", o.addr}, {"name", o.name}, {"user", o.user}, {"policy", o.policy}} {
				w.BulkString(f.name)
				w.BulkString(f.value)
			}
			for _, f := range []struct {
				name  string
				value int64
			}{
				{"id", int64(o.id)}, {"queued-bytes", o.queued}, {"behind-ms", o.ms}, {"dropped", o.dropped},
				{"sub", int64(o.sub)}, {"psub", int64(o.psub)}, {"ssub", int64(o.ssub)},
			} {
				w.BulkString(f.name)
				w.Int(f.value)
			}
		}
	})
}

// worst returns the n that are owed most, in that order.
func worst(all []slowSession, n int) []slowSession {
	slices.SortFunc(all, func(a, b slowSession) int {
		return cmp.Or(cmp.Compare(b.queued, a.queued), cmp.Compare(a.id, b.id))
	})
	return all[:min(n, len(all))]
}

// A channelCount is the traffic of a channel.
type channelCount struct {
	channel string
	shard.ChannelTraffic
}

// channelStats answers PUBSUB STATS.
func (c *call) channelStats() {
	if len(c.args)-2 > maxNames {
		c.fail(errTooManyNames)
		return
	}
	s := c.session
	names := cloneArgs(c.args[2:])
	shard.Gather(s, func(l *shard.Loop) []channelCount {
		var counts []channelCount
		for _, name := range names {
			t, _ := l.ChannelTraffic(name)
			counts = append(counts, channelCount{string(name), t})
		}
		if len(names) == 0 {
			// The busiest of all may be second on several loops.
			counts = busiest(channelCounts(l), 4*busiestChannels)
		}
		return counts
	}, func(parts [][]channelCount) {
		all := addChannelCounts(parts)
		if len(names) == 0 {
			all = busiest(all, busiestChannels)
		}
		w := s.Reply()
		w.Array(len(all))
		for i := range all {
			writeChannelCount(w, s.Store(), &all[i])
		}
	})
}

// channelCounts returns what a loop has counted.
func channelCounts(l *shard.Loop) []channelCount {
	var counts []channelCount
	l.Traffic(func(name string, t shard.ChannelTraffic) bool {
		counts = append(counts, channelCount{name, t})
		return true
	})
	return counts
}

// addChannelCounts adds up what several loops have counted.
func addChannelCounts(parts [][]channelCount) []channelCount {
	var all []channelCount
	at := map[string]int{}
	for _, part := range parts {
		for _, count := range part {
			if i, ok := at[count.channel]; ok {
				all[i].Add(count.ChannelTraffic)
				continue
			}
			at[count.channel] = len(all)
			all = append(all, count)
		}
	}
	return all
}

// busiest returns the n channels with most messages per second in the last
// minute, in that order.
func busiest(all []channelCount, n int) []channelCount {
	slices.SortFunc(all, func(a, b channelCount) int {
		return cmp.Or(
			cmp.Compare(b.PerSecondInMinute, a.PerSecondInMinute),
			cmp.Compare(b.Messages, a.Messages),
			strings.Compare(a.channel, b.channel))
	})
	return all[:min(n, len(all))]
}

// writeChannelCount writes a map.
func writeChannelCount(w replyWriter, store *channelstore.Store[*shard.Session], c *channelCount) {
	subscribers := 0
	if list := store.Find(channelstore.Channels, []byte(c.channel)); list != nil {
		subscribers = list.Len()
	}
	w.Map(10)
	w.BulkString("channel")
	w.BulkString(c.channel)
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"subscribers", int64(subscribers)},
		{"messages", c.Messages}, {"bytes", c.Bytes},
		{"deliveries", c.Deliveries}, {"delivered-bytes", c.DeliveredBytes}, {"dropped", c.Dropped},
		{"messages-last-second", c.LastSecond},
	} {
		w.BulkString(f.name)
		w.Int(f.value)
	}
	w.BulkString("messages-per-second-in-last-minute")
	w.BulkString(strconv.FormatFloat(c.PerSecondInMinute, 'f', 2, 64))
	w.BulkString("counted-one-in")
	w.Int(int64(max(1, c.SampledOneIn)))
}

// A replyWriter is the part of resp.Writer that writeChannelCount needs.
type replyWriter interface {
	Map(n int)
	BulkString(s string)
	Int(n int64)
}

// listSubscribers answers PUBSUB SUBSCRIBERS.
func (c *call) listSubscribers() {
	n, ok := c.count(c.args[3:], defaultSubscriberCount)
	if !ok {
		return
	}
	s := c.session
	channel := append([]byte(nil), c.args[2]...)
	type subscriber struct {
		id         uint64
		addr, name string
	}
	shard.Gather(s, func(l *shard.Loop) []subscriber {
		var out []subscriber
		l.Subscribers(channel, func(o *shard.Session) bool {
			out = append(out, subscriber{o.ID(), o.Addr(), o.Peek().Name})
			return len(out) < n
		})
		return out
	}, func(parts [][]subscriber) {
		all := slices.Concat(parts...)
		slices.SortFunc(all, func(a, b subscriber) int { return cmp.Compare(a.id, b.id) })
		all = all[:min(n, len(all))]
		w := s.Reply()
		w.Array(len(all))
		for _, o := range all {
			w.Map(3)
			w.BulkString("id")
			w.Int(int64(o.id))
			w.BulkString("addr")
			w.BulkString(o.addr)
			w.BulkString("name")
			w.BulkString(o.name)
		}
	})
}
