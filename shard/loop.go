package shard

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"broker/channelstore"
	"broker/resp"
)

// maxCommandsPerTurn and maxReplyBytesPerTurn bound one session's share of a
// turn; what it has read beyond that waits for the next turn, behind the
// other sessions.
const (
	maxCommandsPerTurn   = 1024
	maxReplyBytesPerTurn = 1 << 20
)

// tickPeriod is how often time-dependent states are looked at while there is
// one; a loop without any sleeps without a timer.
const tickPeriod = 100 * time.Millisecond

// A Loop is one shard: a set of sessions and the goroutine that serves them.
type Loop struct {
	// Immutable after newLoop.
	id     int
	group  *Group
	driver driver
	local  any // the command layer's own per-loop state

	// Owned by the loop; see Apply.
	settings    Settings
	slowDrops   bool  // some policy of settings drops
	normalWatch int64 // bytes from which a session without subscriptions is checked
	pubsubWatch int64

	inbox inbox

	// Atomic. Set by the loop before it blocks, cleared by whoever wakes it.
	asleep atomic.Bool
	_      [64]byte // keep the epoch, which every unsubscribe reads, off the line of the wakers

	// Atomic. Odd while the loop may hold a list older than the newest
	// snapshot; written by the loop, read by loops that unsubscribe. See grace.go.
	epoch atomic.Uint64
	_     [64]byte

	// Atomic. Sessions of this loop, for balancing; written by the loop and by
	// the acceptor.
	load atomic.Int64

	// Owned by the loop.
	sessions     []*Session // all of them, by Session.index
	ready        []*Session // have commands to run or a continuation; see enqueue
	dirty        []*Session // have something to flush this turn
	doomed       []*Session // to be torn down at the end of the turn
	reaping      [][]*channelstore.Subscription[*Session]
	waiting      map[*Session]struct{} // over a soft limit or lingering: looked at by tick
	current      *Session              // whom a panic is blamed on
	cursor       cursor                // where delivery stands, for the same reason
	batch        *batch                // what this turn published so far
	publishing   bool                  // epoch is odd
	pollFirst    bool                  // see waitForWork
	spinScore    int                   // how well spinning would have done lately; see spin.go
	pushed       []int32               // shards to wake once the locks are released
	now          int64                 // nanoseconds since the group's start, once per turn
	nextTick     int64
	nextSweep    int64 // when idle sessions are looked for again
	taking       bool  // inside takeInbox
	draining     bool  // no command is run any more
	stopAt       int64 // when to give up on sessions; 0: not stopping
	stopped      bool
	owed         int64 // bytes that sessions are owed, as charged; see evict.go
	fixed        int64 // what else they hold, measured at times
	reported     int64 // part of group.memory
	nextMeasure  int64
	measureLater bool // something happened since the last measure
	slab         slab // frames
	slab3        slab // the same in RESP3
	decoder      resp.Decoder
	partial      resp.Partial
	readBuf      []byte
	void         resp.Writer // what muted sessions write to
	outboxes     []*outbox
	inputs       []*input
	stats        Stats
	closeLog     struct{ second, lines, skipped int64 } // see logSlowClose
	traffic      traffic

	// Scratch, empty between calls.
	matches []*channelstore.List[*Session]
	names   [][]byte
	fresh   []bool
	seen    map[string]struct{}
	created []*channelstore.Subscription[*Session]
	held    []*channelstore.Subscription[*Session]
	leaving []*channelstore.Subscription[*Session]
	events  []event
}

// readBytes is how much is read from one session per turn.
const readBytes = 64 << 10

func newLoop(g *Group, id int, d driver) *Loop {
	l := &Loop{
		id:      id,
		group:   g,
		driver:  d,
		waiting: map[*Session]struct{}{},
		seen:    map[string]struct{}{},
		readBuf: make([]byte, readBytes),
		decoder: resp.Decoder{Limits: g.cfg.Limits},
		traffic: traffic{weight: 1},
	}
	l.Apply(g.cfg.Settings)
	if g.cfg.NewLocal != nil {
		l.local = g.cfg.NewLocal(id)
	}
	return l
}

// Shard returns the loop's number, from 0.
func (l *Loop) Shard() int { return l.id }

// Local returns what Config.NewLocal made for this loop.
func (l *Loop) Local() any { return l.local }

// Now returns the wall clock, read once per turn.
func (l *Loop) Now() time.Time { return l.group.started.Add(time.Duration(l.now)) }

// Nanotime returns a monotonic clock in nanoseconds, read now.
func (l *Loop) Nanotime() int64 { return int64(time.Since(l.group.started)) }

// Sessions calls yield for every session that has not ended until it returns
// false.
func (l *Loop) Sessions(yield func(*Session) bool) {
	for _, s := range l.sessions {
		if s.state != closed && !yield(s) {
			return
		}
	}
}

// Post runs f on the loop soon. Any goroutine may call it.
func (l *Loop) Post(f func(*Loop)) { l.post(f) }

// Tell runs f on this loop now and on every other one soon, in the order of
// the calls.
func (l *Loop) Tell(f func(*Loop)) {
	for _, o := range l.group.loops {
		if o != l {
			o.post(f)
		}
	}
	f(l)
}

// post hands run to the loop, from any goroutine, and wakes it.
func (l *Loop) post(run func(*Loop)) {
	l.inbox.push(&post{run: run})
	l.wakeIfAsleep()
}

func (l *Loop) wakeIfAsleep() {
	if l.asleep.Load() && l.asleep.CompareAndSwap(true, false) {
		l.driver.wake()
	}
}

// run is the loop goroutine. It ends when the group is shut down and every
// session is closed.
func (l *Loop) run() {
	if l.driver.ownThread() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	for !l.stopped {
		l.turn()
	}
	l.driver.close()
}

// turn is one pass of the loop.
func (l *Loop) turn() {
	l.waitForWork()
	l.stats.Turns++
	// What was published before a client sent what is read now comes first.
	l.takeInbox()
	if l.batch != nil {
		// Commands that had to wait have published.
		l.handOver()
		l.takeInbox()
	}
	for i := range l.events {
		e := &l.events[i]
		if e.session.state != closed {
			l.serve(e.session, e)
		}
		*e = event{}
	}
	l.runReady()
	l.handOver()
	l.takeInbox()
	if l.now >= l.nextTick || l.settings.IdleTimeout > 0 && l.now >= l.nextSweep {
		l.tick()
	}
	l.reap()
	l.flushDirty()
	l.evict()
	l.bury()
	if l.stopAt != 0 {
		l.stopIfDrained()
	}
}

// busyEvents is the number of events in one turn from which the next turn is
// expected to find some at once.
const busyEvents = 4

// waitForWork fills l.events. It blocks only when nothing else is to be done.
// A loop under load polls first, which the scheduler need not know of; a loop
// that would mostly find nothing goes to sleep directly.
func (l *Loop) waitForWork() {
	l.events = l.events[:0]
	if busy := l.busy(); busy || l.pollFirst {
		l.events = l.driver.poll(l.events)
		l.pollFirst = len(l.events) > 0
		if busy || l.pollFirst {
			l.now = l.Nanotime()
			return
		}
	}
	if l.spin() {
		l.now = l.Nanotime()
		return
	}
	var since int64
	if l.settings.Spin.Adaptive {
		since = l.Nanotime()
	}
	l.asleep.Store(true)
	if l.inbox.empty() {
		l.events = l.driver.wait(l.events, l.timeout())
		l.stats.Wakeups++
		l.pollFirst = len(l.events) >= busyEvents
	}
	l.asleep.Store(false)
	l.now = l.Nanotime()
	if l.settings.Spin.Adaptive {
		l.slept(since)
	}
}

// busy reports whether there is work that no event will announce.
func (l *Loop) busy() bool {
	return len(l.ready) > 0 || len(l.reaping) > 0 || len(l.dirty) > 0 || !l.inbox.empty()
}

// timeout is how long the loop may sleep; negative means for ever.
func (l *Loop) timeout() time.Duration {
	switch {
	case len(l.waiting) > 0 || l.stopAt != 0:
		return max(0, time.Duration(l.nextTick-l.now))
	case l.settings.IdleTimeout > 0 && l.measureLater:
		return max(0, time.Duration(min(l.nextSweep, l.nextMeasure)-l.now))
	case l.settings.IdleTimeout > 0:
		return max(0, time.Duration(l.nextSweep-l.now))
	case l.measureLater:
		return max(0, time.Duration(l.nextMeasure-l.now))
	}
	return -1
}

// event says what a socket is ready for.
type event struct {
	session  *Session
	readable bool
	writable bool
	broken   bool // the connection is gone in both directions
}

func (l *Loop) onEvent(e *event) {
	s := e.session
	if e.writable {
		s.blocked = false
		s.markDirty()
	}
	switch {
	case e.readable:
		l.read(s)
	case e.broken:
		l.doom(s, CloseByClient)
	}
}

// serve handles an event of s, or goes on with it when e is nil, and turns a
// panic into the end of s alone: a fault in one session must not take the
// others along.
func (l *Loop) serve(s *Session, e *event) {
	l.current = s
	defer l.recoverSession()
	if e != nil {
		l.onEvent(e)
	} else {
		l.goOn(s)
	}
	l.current = nil
}

func (l *Loop) recoverSession() {
	if l.current == nil {
		return
	}
	if r := recover(); r != nil {
		l.blame(r)
	}
}

// blame counts and logs a panic and dooms the session it is blamed on.
func (l *Loop) blame(r any) {
	s := l.current
	l.current = nil
	l.partial.Reset()
	l.stats.Panics++
	attrs := []any{"panic", r, "stack", string(debug.Stack())}
	if s != nil {
		attrs = append(attrs, "session", s.id)
		l.doom(s, CloseByPanic)
	}
	l.group.cfg.Log.Error("panic in a session", attrs...)
}

// enqueue makes the loop look at s in its next turn, if not in this one.
func (l *Loop) enqueue(s *Session) {
	if !s.queued && s.state != closed {
		s.queued = true
		l.ready = append(l.ready, s)
	}
}

// runReady serves the sessions that were ready when the turn began; those
// that are queued meanwhile wait for the next turn.
func (l *Loop) runReady() {
	n := len(l.ready)
	for i := range n {
		s := l.ready[i]
		s.queued = false
		if s.state != closed {
			l.serve(s, nil)
		}
	}
	l.ready = append(l.ready[:0], l.ready[n:]...)
}

// goOn continues a session whose command takes several turns, or that has
// commands waiting.
func (l *Loop) goOn(s *Session) {
	if s.next != nil && !s.throttled {
		f := s.next
		s.next = nil
		s.suspended = false
		f()
		s.finishCommand()
	}
	if s.state == closing {
		s.markDirty() // its subscriptions leave a slice per turn
	}
	if s.suspended || s.throttled || s.state != open || l.draining {
		return
	}
	if s.in != nil {
		l.consume(s, s.in.buf)
	}
	if s.state == open && !s.suspended && !s.queued {
		l.listen(s)
	}
}

// takeInbox delivers the batches and runs the functions that wait, in order.
// Within such a function it does nothing: what came later must not overtake
// what was already taken.
func (l *Loop) takeInbox() {
	if l.taking || l.inbox.empty() {
		return
	}
	l.taking = true
	defer func() { l.taking = false }()
	for p := l.inbox.take(); p != nil; {
		next := p.next // p may be recycled with its batch
		if p.batch != nil {
			l.deliver(p.batch)
		} else {
			l.runPost(p.run)
		}
		p = next
	}
}

func (l *Loop) runPost(run func(*Loop)) {
	outer := l.current // not nil inside a command that settles
	l.current = nil
	defer func() {
		if r := recover(); r != nil {
			l.blame(r)
		}
		l.current = outer
	}()
	run(l)
}

// tick looks at the sessions whose state depends on time.
func (l *Loop) tick() {
	l.nextTick = l.now + int64(tickPeriod)
	for s := range l.waiting {
		switch {
		case s.state == closed:
			delete(l.waiting, s)
		case s.state == lingering:
			l.checkLinger(s)
		default:
			anonymous, soft := l.checkAnonymous(s), l.checkSoft(s)
			if !anonymous && !soft {
				delete(l.waiting, s)
			}
		}
	}
	if l.settings.IdleTimeout > 0 && l.now >= l.nextSweep {
		l.sweepIdle()
	}
}

// await has tick look at s.
func (l *Loop) await(s *Session) {
	l.waiting[s] = struct{}{}
}
