package command

import "broker/shard"

// The time that commands take, for commandstats, the histograms and the slow
// log.
//
// Two readings of the clock cost as much as a PUBLISH without receivers. So
// commands that are cheap and frequent are timed by runs of equal ones within
// one read: the run's average counts as the time of each. What is in the slow
// log of a run is its first command. Every other command is timed singly, and
// every command when the slow log's threshold is too low for averages to show
// what exceeds it (see Configure). A command that suspends its session is
// measured until it is finished, one that is timed by runs until its handler
// returns.

// maxRunArgs is the number of arguments up to which a command is timed by
// runs: with more, frequent commands need not be cheap.
const maxRunArgs = 8

// A runTimer times a run of equal commands on one loop, to which it belongs.
type runTimer struct {
	cmd   *command // of all its commands; nil: there is no run
	calls int64
	since int64 // when it began, by Loop.Nanotime

	// The first command: its session, and the beginnings and the lengths of its
	// arguments, which do not outlive it.
	session *shard.Session
	args    [maxRunArgs][slowArgBytes]byte
	lengths [maxRunArgs]int
	count   int
}

// extend counts a command in and begins a run where none of its kind is under
// way.
func (l *local) extend(d *Dispatcher, s *shard.Session, cmd *command, args [][]byte) {
	r := &l.run
	if r.cmd == cmd {
		r.calls++
		return
	}
	now := s.Loop().Nanotime()
	l.endRun(d, now)
	r.cmd, r.calls, r.since, r.session, r.count = cmd, 1, now, s, len(args)
	for i, a := range args {
		copy(r.args[i][:], a)
		r.lengths[i] = len(a)
	}
}

// endRun closes the run, if there is one.
func (l *local) endRun(d *Dispatcher, now int64) {
	r := &l.run
	if r.cmd == nil {
		return
	}
	if d.charge(l, r.cmd, r.calls, now-r.since) {
		shown := make([]string, r.count)
		for i := range shown {
			shown[i] = slowArg(r.args[i][:min(r.lengths[i], slowArgBytes)], r.lengths[i])
		}
		d.noteSlow(r.session, shown, (now-r.since)/r.calls)
	}
	l.dropRun()
}

// dropRun forgets the run.
func (l *local) dropRun() { l.run.cmd, l.run.session = nil, nil }

// charge adds what calls of a command took together, in nanoseconds, and
// reports whether the slow log is to keep it.
func (d *Dispatcher) charge(l *local, cmd *command, calls, nanos int64) (slow bool) {
	each := nanos / calls
	l.commands[cmd.number].nanos += nanos
	rt := d.runtime.Load()
	if rt.LatencyTracking {
		l.times(cmd.number).add(each, calls)
	}
	return rt.keepsSlow() && each >= int64(rt.SlowlogSlowerThan) && cmd.flags&flagSkipSlowlog == 0
}

// A measurement is of one command that goes on after its handler has returned.
type measurement struct {
	d     *Dispatcher
	s     *shard.Session
	cmd   *command
	since int64
	shown []string // its arguments for the slow log; nil: that keeps nothing
}

// finish is called on the session's loop when the command is finished. Without
// a measurement it does nothing.
func (m *measurement) finish() {
	if m == nil {
		return
	}
	loop := m.s.Loop()
	nanos := loop.Nanotime() - m.since
	if m.d.charge(loop.Local().(*local), m.cmd, 1, nanos) && m.shown != nil {
		m.d.noteSlow(m.s, m.shown, nanos)
	}
}

// measure ends the timing of a single command that began at since. If it is
// not finished, its measurement is returned.
func (d *Dispatcher) measure(s *shard.Session, l *local, cmd *command, args [][]byte, since int64) *measurement {
	if s.Suspended() {
		m := &measurement{d: d, s: s, cmd: cmd, since: since}
		if d.runtime.Load().keepsSlow() && cmd.flags&flagSkipSlowlog == 0 {
			m.shown = slowArgs(shownArgs(cmd, args))
		}
		return m
	}
	now := s.Loop().Nanotime()
	l.endRun(d, now) // of what EXEC ran
	if d.charge(l, cmd, 1, now-since) {
		d.noteSlow(s, slowArgs(shownArgs(cmd, args)), now-since)
	}
	return nil
}
