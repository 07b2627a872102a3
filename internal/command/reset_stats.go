package command

import (
	"time"

	"broker/shard"
)

// configResetStat answers CONFIG RESETSTAT: what INFO counts is counted from
// zero again. What INFO measures now, and the peak of memory, stay.
func (c *call) configResetStat() {
	d, s, home, number := c.d, c.session, c.local, c.cmd.number
	shard.Gather(s, func(l *shard.Loop) struct{} {
		own := l.Local().(*local)
		own.reset(l)
		if own == home {
			own.commands[number].calls = 1 // this one
		}
		return struct{}{}
	}, func([]struct{}) {
		d.resetTotals(time.Now())
		s.Reply().OK()
	})
}

// reset sets the counters of the loop to zero. Of a run of commands that is
// being timed, the last one counts as the first, with the time from now on.
func (l *local) reset(loop *shard.Loop) {
	clear(l.commands)
	clear(l.histograms)
	l.errors = l.errors[:0]
	l.errorReplies, l.authFailures, l.httpRequests = 0, 0, 0
	l.deniedCommands, l.deniedChannels = 0, 0
	l.base = loop.Stats()
	if r := &l.run; r.cmd != nil {
		l.commands[r.cmd.number].calls = 1
		r.calls, r.since = 1, loop.Nanotime()
	}
}

// resetTotals forgets what is remembered of all loops together.
func (d *Dispatcher) resetTotals(now time.Time) {
	rejected := d.cfg.Rejected()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rejectedBase = rejected
	d.rates.begin(now)
}

// rejected returns how many connections were refused since the last reset.
func (d *Dispatcher) rejected() int64 {
	n := d.cfg.Rejected()
	d.mu.Lock()
	defer d.mu.Unlock()
	return n - d.rejectedBase
}

// since returns what was counted between base and now. What is a state and no
// count stays as it is.
func since(now, base shard.Stats) shard.Stats {
	now.Connections -= base.Connections
	now.NetInputBytes -= base.NetInputBytes
	now.NetOutputBytes -= base.NetOutputBytes
	now.OutputLimitDisconnects -= base.OutputLimitDisconnects
	now.QueryLimitDisconnects -= base.QueryLimitDisconnects
	now.ProtocolErrors -= base.ProtocolErrors
	now.Panics -= base.Panics
	now.Turns -= base.Turns
	now.Wakeups -= base.Wakeups
	now.Messages -= base.Messages
	now.Deliveries -= base.Deliveries
	now.Dropped -= base.Dropped
	for i := range now.Closed {
		now.Closed[i] -= base.Closed[i]
	}
	for i := range now.FanOut {
		now.FanOut[i] -= base.FanOut[i]
		now.MessageBytes[i] -= base.MessageBytes[i]
	}
	now.FanOutSum -= base.FanOutSum
	now.MessageBytesSum -= base.MessageBytesSum
	return now
}
