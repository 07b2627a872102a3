package shard

import "time"

// Spinning: a loop that has nothing to do may look for work a little longer
// before it sleeps. Going to sleep and being woken costs some 20 µs of latency
// and 3 to 5 µs of the waker's time; spinning costs a processor for as long as
// it lasts.

// A Spin says how long a loop looks for work before it sleeps.
type Spin struct {
	// Longest is the longest time of one spin; 0: never spin.
	Longest time.Duration

	// Adaptive spins only while that has lately been worth it: after several
	// sleeps in a row that would have fitted into a spin, until several spins
	// were in vain. An idle loop does not spin.
	Adaptive bool
}

const (
	// spinFrom is the score from which an adaptive loop spins. A sleep shorter
	// than a spin, or a spin that found work, adds one; a spin in vain costs
	// spinFailure.
	spinFrom    = 4
	spinMost    = 8
	spinFailure = 3
)

// spin looks for work and reports whether it found any. Events are in l.events.
func (l *Loop) spin() bool {
	s := l.settings.Spin
	if s.Longest == 0 || s.Adaptive && l.spinScore < spinFrom || !l.driver.ownThread() {
		return false
	}
	for end := l.Nanotime() + int64(s.Longest); ; {
		l.events = l.driver.poll(l.events)
		if len(l.events) > 0 || !l.inbox.empty() {
			l.spinScore = min(l.spinScore+1, spinMost)
			return true
		}
		l.now = l.Nanotime()
		if l.now >= end {
			l.spinScore = max(0, l.spinScore-spinFailure)
			return false
		}
	}
}

// slept tells of a sleep, which began at the given time and has just ended.
func (l *Loop) slept(since int64) {
	if s := l.settings.Spin; s.Adaptive && l.now-since < int64(s.Longest) {
		l.spinScore = min(l.spinScore+1, spinMost)
	} else {
		l.spinScore = 0
	}
}
