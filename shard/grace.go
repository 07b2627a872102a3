package shard

// Grace periods.
//
// PUBLISH counts the receivers of the lists it loads and hands the message
// over later, at the end of its turn. A subscriber that leaves in between
// would be counted and get nothing, because nothing may follow its
// unsubscribe ack (invariant no-late-message). So that exact-count holds for
// the messages that arrive and not only for the number, an unsubscribe is
// acked after a grace period: when every loop that was publishing at the time
// of the removal has handed its batch over. Until then the subscription stays
// live and gets what it was counted for.
//
// This is the read side of RCU with quiescent states: a loop's epoch is odd
// from its first list lookup of a turn to its hand-over. The remover installs
// the new snapshot and then reads the epochs. Go's atomics are sequentially
// consistent, so a loop whose epoch reads even will load the new snapshot.
// Loops that do not publish are never asked, so that churn without traffic
// costs one load per shard.

// afterGrace runs done on l once every publish that may have loaded a list
// older than now has been delivered to l's inbox and taken from it. It
// returns true when done ran before it returned; otherwise done runs in a
// later turn. The caller has handed its own batch over.
func (l *Loop) afterGrace(done func()) bool {
	g := l.group
	waiting := 0
	for _, o := range g.loops {
		if o == l || o.epoch.Load()&1 == 0 {
			continue
		}
		waiting++
		// o takes its inbox only right after a hand-over, and what it handed
		// over stands in l's inbox before the answer.
		o.post(func(o *Loop) {
			l.post(func(*Loop) {
				waiting--
				if waiting == 0 {
					done()
				}
			})
		})
	}
	if waiting > 0 {
		return false
	}
	l.takeInbox()
	done()
	return true
}

// settle hands the own batch over and delivers everything that other loops
// have handed over, so that what was published before now precedes what the
// caller is about to write.
func (l *Loop) settle() {
	l.handOver()
	l.takeInbox()
}
