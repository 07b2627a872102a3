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

// othersQuiet reports whether no other loop may hold a list older than now:
// the grace period that begins now is over at once.
func (l *Loop) othersQuiet() bool {
	for _, o := range l.group.loops {
		if o != l && o.epoch.Load()&1 != 0 {
			return false
		}
	}
	return true
}

// afterGrace runs done on l, in a later turn, once every publish that may have
// loaded a list older than now has been delivered to l's inbox and taken from
// it. The caller has handed its own batch over.
func (l *Loop) afterGrace(done func()) {
	waiting := 1
	answer := func(*Loop) {
		if waiting--; waiting == 0 {
			done()
		}
	}
	for _, o := range l.group.loops {
		if o == l || o.epoch.Load()&1 == 0 {
			continue
		}
		waiting++
		// o takes its inbox only right after a hand-over, and what it handed
		// over stands in l's inbox before the answer.
		o.post(func(*Loop) { l.post(answer) })
	}
	l.post(answer) // counts for the caller, so that done never runs inside it
}
