package command

import (
	"math/bits"
	"slices"
	"strings"
	"time"

	"broker/channelstore"
	"broker/shard"
)

// A Snapshot is what INFO reports, as numbers, for monitoring. CONFIG
// RESETSTAT sets its counts back to zero as it does those of INFO. The loops
// are asked one after the other: the parts of a sum may be some microseconds
// apart.
type Snapshot struct {
	Started, Taken             time.Time
	Version, CompatVersion     string
	RunID, IO                  string
	Shards                     []shard.Stats // by loop
	Total                      shard.Stats   // of all loops
	Commands                   []CommandStats
	TopChannels                []ChannelStats // the busiest, as many as were asked for
	Errors                     []ErrorStats   // by the first word of the text, protocol errors included
	ErrorReplies, AuthFailures int64
	DeniedCommands             int64 // refused, because the user may not run them
	DeniedChannels             int64 // refused, because the user may not use the channel
	SlowlogLength              int
	HTTPRequests               int64 // connections closed because they spoke HTTP
	Rejected                   int64 // connections that were refused
	Channels, Patterns         int   // with subscribers
	ShardChannels              int
	QueuedBytes, QueuedHeld    int64 // bytes that slow subscribers are owed, and what those occupy
	UsedMemory, PeakMemory     int64 // bytes, of the Go runtime
	ResidentMemory             int64 // bytes
}

// CommandStats are the counts of a command or subcommand.
type CommandStats struct {
	Name     string // as commandstats names it: "config|get"
	Calls    int64  // executed
	Rejected int64  // refused before execution
	Failed   int64  // executed and answered with an error
	Nanos    int64  // spent executing
	Times    Times  // of the executions that latency-tracking has timed
}

// Times is a distribution of execution times in nanoseconds.
type Times struct {
	Count int64
	Sum   int64 // to 1/16 of each time

	// Bits counts them by the number of their bits. nil: there are none.
	Bits []int64
}

// timesOf coarsens a histogram; nil: there are no times.
func timesOf(h *histogram) Times {
	if h == nil || h.total == 0 {
		return Times{}
	}
	t := Times{Count: h.total, Bits: make([]int64, histogramBits+1)}
	for i, n := range h.n {
		if n > 0 {
			end := bucketEnd(i)
			t.Sum += n * end
			t.Bits[bits.Len64(uint64(end))] += n
		}
	}
	return t
}

// ChannelStats are the counts of a channel; see shard.ChannelTraffic.
type ChannelStats struct {
	Name        string
	Subscribers int
	shard.ChannelTraffic
}

// ErrorStats is the number of error replies that begin with a word.
type ErrorStats struct {
	Prefix string
	Count  int64
}

// Snapshot asks every loop of g. It blocks until all have answered, so it must
// not be called from a loop, nor when g shuts down. topChannels is how many of
// the busiest channels it names.
func (d *Dispatcher) Snapshot(g *shard.Group, topChannels int) Snapshot {
	parts := make([]totals, d.cfg.Shards)
	times := make([][]*histogram, d.cfg.Shards)
	traffic := make([][]channelCount, d.cfg.Shards)
	g.Each(func(l *shard.Loop) {
		own := l.Local().(*local)
		times[l.Shard()] = cloneHistograms(l)
		if topChannels > 0 {
			// The busiest of all may be second on several loops.
			traffic[l.Shard()] = busiest(channelCounts(l), 4*topChannels)
		}
		parts[l.Shard()] = totals{shard: since(l.Stats(), own.base), queued: l.Queued(), gauges: gaugesOf(l), counts: own.clone()}
	})
	s := Snapshot{
		Started:       d.cfg.Started,
		Taken:         time.Now(),
		Version:       d.cfg.Version,
		CompatVersion: compatVersion,
		RunID:         d.cfg.RunID,
		IO:            d.cfg.IO,
		Rejected:      d.rejected(),
		Channels:      g.Store().Count(channelstore.Channels),
		Patterns:      g.Store().Count(channelstore.Patterns),
		ShardChannels: g.Store().Count(channelstore.ShardChannels),
	}
	memory := readMemory()
	s.UsedMemory, s.ResidentMemory, s.PeakMemory = memory.used, memory.resident, d.notePeak(memory.used)

	counts := newCounters(len(d.table.rows))
	var queued shard.Queued
	for _, p := range parts {
		queued.Add(p.queued)
		s.Shards = append(s.Shards, p.shard)
		s.Total.Add(p.shard)
		counts.add(&p.counts)
	}
	s.QueuedBytes, s.QueuedHeld = queued.Owed, queued.HeldBytes()
	s.ErrorReplies = counts.errorReplies + s.Total.ProtocolErrors
	s.AuthFailures, s.HTTPRequests = counts.authFailures, counts.httpRequests
	s.DeniedCommands, s.DeniedChannels = counts.deniedCommands, counts.deniedChannels
	s.SlowlogLength = d.slowlog.length()
	for _, c := range busiest(addChannelCounts(traffic), topChannels) {
		subscribers := 0
		if list := g.Store().Find(channelstore.Channels, []byte(c.channel)); list != nil {
			subscribers = list.Len()
		}
		s.TopChannels = append(s.TopChannels, ChannelStats{c.channel, subscribers, c.ChannelTraffic})
	}
	merged := mergeHistograms(times)
	for i, n := range counts.commands {
		if n != (commandCounters{}) {
			s.Commands = append(s.Commands, CommandStats{
				Name: d.table.rows[i].fullName, Calls: n.calls, Rejected: n.rejected, Failed: n.failed, Nanos: n.nanos,
				Times: timesOf(merged[i]),
			})
		}
	}
	counts.addErrors(errPrefix, s.Total.ProtocolErrors)
	for _, e := range counts.errors {
		if e.n > 0 {
			s.Errors = append(s.Errors, ErrorStats{e.prefix, e.n})
		}
	}
	slices.SortFunc(s.Errors, func(a, b ErrorStats) int { return strings.Compare(a.Prefix, b.Prefix) })
	return s
}

// Calls returns the number of commands executed.
func (s *Snapshot) Calls() int64 {
	var n int64
	for _, c := range s.Commands {
		n += c.Calls
	}
	return n
}
