package command

import (
	"time"

	"broker/shard"
)

// A pause is what CLIENT PAUSE has asked for.
type pause struct {
	until      time.Time
	writesOnly bool
}

// active reports whether the pause holds at a time.
func (p pause) active(now time.Time) bool { return now.Before(p.until) }

// concerns reports whether a command has to wait. A transaction waits when
// something in it would have to.
func (p pause) concerns(cmd *command, st *connState) bool {
	if !p.writesOnly || cmd.pausedWithWrites() {
		return true
	}
	if cmd.name != "exec" || st == nil || st.tx == nil {
		return false
	}
	for _, q := range st.tx.queue {
		if q.cmd.pausedWithWrites() {
			return true
		}
	}
	return false
}

// pausedWithWrites reports whether CLIENT PAUSE WRITE holds the command back:
// what would reach replicas. Here that is publishing.
func (c *command) pausedWithWrites() bool {
	return c.flags&flagWrite != 0 || c.flags&flagPubSub != 0 && c.flags&flagFast != 0 || c.name == "eval" || c.name == "evalsha"
}

// postpone suspends the session until the pause is over, when it concerns the
// command, which is then handled from the beginning. Messages go on arriving.
func (d *Dispatcher) postpone(s *shard.Session, l *local, cmd *command, args [][]byte) bool {
	st := stateOf(s)
	d.mu.Lock()
	p := d.pause
	d.mu.Unlock()
	if !p.active(time.Now()) || !p.concerns(cmd, st) {
		return false
	}
	held := cloneArgs(args)
	ensureState(s).postponed = true
	resume := s.Suspend()
	l.paused = append(l.paused, func() {
		resume(func() {
			ensureState(s).postponed = false
			d.Handle(s, held)
		})
	})
	return true
}

// setPause begins, prolongs or (with the zero pause) ends a pause.
func (d *Dispatcher) setPause(loop *shard.Loop, p pause) {
	d.mu.Lock()
	now := time.Now()
	if d.pause.active(now) && p.active(now) {
		// The stricter of both holds, for the longer time.
		p.writesOnly = p.writesOnly && d.pause.writesOnly
		if d.pause.until.After(p.until) {
			p.until = d.pause.until
		}
	}
	d.pause = p
	if d.pauseEnd != nil {
		d.pauseEnd.Stop()
		d.pauseEnd = nil
	}
	active := p.active(now)
	d.setAlert(alertPause, active)
	if active {
		d.pauseEnd = time.AfterFunc(p.until.Sub(now), func() { d.endPause(p, loop) })
	}
	d.mu.Unlock()
	if !active {
		releasePaused(loop)
	}
}

// endPause is called when the time of p is over.
func (d *Dispatcher) endPause(p pause, loop *shard.Loop) {
	d.mu.Lock()
	over := d.pause == p
	if over {
		d.pause = pause{}
		d.pauseEnd = nil
		d.setAlert(alertPause, false)
	}
	d.mu.Unlock()
	if over {
		loop.Post(releasePaused)
	}
}

// releasePaused lets the commands go on that wait on any loop.
func releasePaused(loop *shard.Loop) {
	loop.Tell(func(o *shard.Loop) {
		l := o.Local().(*local)
		waiting := l.paused
		l.paused = nil
		for _, resume := range waiting {
			resume()
		}
	})
}

// clientPause answers CLIENT PAUSE.
func (c *call) clientPause() {
	if len(c.args) > 4 {
		c.fail(unknownOrArity(c.cmd.parent, c.args[1]))
		return
	}
	p := pause{}
	if len(c.args) == 4 {
		p.writesOnly = is(c.args[3], "WRITE")
		if !p.writesOnly && !is(c.args[3], "ALL") {
			c.fail(errPauseMode)
			return
		}
	}
	ms, ok := parseInt(c.args[2])
	switch {
	case !ok || ms > maxPauseMillis:
		c.fail(errTimeout)
		return
	case ms < 0:
		c.fail(errTimeoutNegative)
		return
	}
	c.reply().OK()
	p.until = time.Now().Add(time.Duration(ms) * time.Millisecond)
	c.d.setPause(c.session.Loop(), p)
}

// maxPauseMillis bounds a pause to what fits a time.Duration.
const maxPauseMillis = int64(1<<63-1) / int64(time.Millisecond)
