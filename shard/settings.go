package shard

import "time"

// Settings are what may change while a group runs. Every loop has a copy of
// its own, which Apply replaces. Zero means no limit and no timeout.
type Settings struct {
	// NormalLimit, PubSubLimit and ReplicaLimit bound the output of sessions
	// without and with a subscription, and of those that are fed without
	// asking (see SetExempt).
	NormalLimit, PubSubLimit, ReplicaLimit OutputLimit

	// QueryBufferBytes is the most an incomplete command may occupy.
	QueryBufferBytes int

	// BulkBytes is the longest argument of a command; 0 means resp's default.
	BulkBytes int

	// IdleTimeout closes a session that holds no subscription and has neither
	// sent nor taken anything for so long.
	IdleTimeout time.Duration

	// AuthTimeout closes a session that has not authenticated so long after it
	// was told to.
	AuthTimeout time.Duration

	// Spin says how long a loop looks for work before it sleeps. The net driver
	// never spins.
	Spin Spin

	// Slow says what becomes of messages for subscribers that do not keep up;
	// nil: SlowDisconnect for all. It is not written any more.
	Slow *SlowPolicies

	// ClientMemory is the most bytes that may be charged to all sessions
	// together; beyond it the largest are closed.
	ClientMemory int64
}

// sweepPeriod is how often idle sessions are looked for.
const sweepPeriod = time.Second

// Apply replaces the loop's settings. It is called on the loop; they hold from
// its next command on, for the sessions that exist as well.
func (l *Loop) Apply(settings Settings) {
	l.settings = settings
	l.normalWatch = min(settings.NormalLimit.watch(), settings.ReplicaLimit.watch())
	l.pubsubWatch = settings.PubSubLimit.watch()
	l.slowDrops = settings.Slow.drops()
	l.decoder.Limits.BulkBytes = settings.BulkBytes
	l.nextSweep = l.now
	// Sessions that are behind are checked by the new limits, at the next tick.
	for _, s := range l.sessions {
		if s.blocked {
			l.await(s)
		}
	}
}

// Settings returns what was last applied.
func (l *Loop) Settings() Settings { return l.settings }

// checkAnonymous closes a session that has not authenticated in time. It
// returns false when s need not be looked at any more.
func (l *Loop) checkAnonymous(s *Session) bool {
	limit := int64(l.settings.AuthTimeout)
	if !s.anonymous || limit == 0 {
		return false
	}
	if l.now-s.since > limit {
		l.doom(s, CloseByAuthTimeout)
	}
	return true
}

// sweepIdle closes the sessions that have been idle for too long. Subscribers
// wait for messages and are not idle.
func (l *Loop) sweepIdle() {
	l.nextSweep = l.now + int64(sweepPeriod)
	limit := int64(l.settings.IdleTimeout)
	for _, s := range l.sessions {
		if s.state == open && !s.Subscribed() && !s.exempt && !s.suspended && l.now-s.lastActive > limit {
			l.doom(s, CloseByIdle)
		}
	}
}
