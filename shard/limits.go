package shard

import (
	"math"
	"time"
)

// An OutputLimit bounds what a session may owe its client, in the manner of
// Redis's client-output-buffer-limit. Zero values mean no limit.
type OutputLimit struct {
	HardBytes  int64         // at or above: closed at once
	SoftBytes  int64         // at or above for longer than SoftPeriod without a break: closed
	SoftPeriod time.Duration // whole seconds in Redis
}

// watch returns the smallest number of bytes at which the limit has a say.
func (o OutputLimit) watch() int64 {
	w := int64(math.MaxInt64)
	if o.HardBytes > 0 {
		w = o.HardBytes
	}
	if o.SoftBytes > 0 {
		w = min(w, o.SoftBytes)
	}
	return w
}

// defaultReplyBacklogBytes is the default of Config.ReplyBacklogBytes.
const defaultReplyBacklogBytes = 64 << 20

// anonymousReplyBytes is what a client that has yet to authenticate may leave
// unread; Redis's constant.
const anonymousReplyBytes = 1024

// anonymousReadBytes is how much of its commands is read in one turn, and
// anonymousTurnBytes how many bytes of replies it may be given.
const (
	anonymousReadBytes = 4 << 10
	anonymousTurnBytes = 4 << 10
)

// outputLimit returns the limit of the session's class.
func (s *Session) outputLimit() OutputLimit {
	settings := &s.loop.settings
	switch {
	case s.Subscribed():
		return settings.PubSubLimit
	case s.exempt:
		return settings.ReplicaLimit
	case s.anonymous:
		return OutputLimit{HardBytes: anonymousReplyBytes}
	}
	return settings.NormalLimit
}

// checkOutput applies the output limit of s, which owes pending bytes. A
// session that is not known to be blocked gets the chance to write first:
// being over the limit within one turn says nothing about the client.
func (l *Loop) checkOutput(s *Session, pending int64) {
	limit := s.outputLimit()
	if pending < limit.watch() {
		return
	}
	if !s.blocked {
		l.flush(s)
		if s.state == closed {
			return
		}
		pending = s.pending()
	}
	if limit.HardBytes > 0 && pending >= limit.HardBytes {
		l.doom(s, CloseByHardLimit)
		return
	}
	if limit.SoftBytes > 0 && pending >= limit.SoftBytes && s.softSince == 0 {
		s.softSince = l.now
		l.await(s)
	}
}

// checkSoft closes s when it has been over its soft limit for too long. It
// runs on every tick, so that the limit strikes without traffic too, and the
// clock starts anew after the backlog fell below the limit once. It returns
// false when s need not be looked at any more.
func (l *Loop) checkSoft(s *Session) bool {
	limit := s.outputLimit()
	if limit.SoftBytes == 0 || s.pending() < limit.SoftBytes {
		s.softSince = 0
		return false
	}
	if s.softSince == 0 {
		s.softSince = l.now
	}
	if l.now-s.softSince > int64(limit.SoftPeriod) {
		l.doom(s, CloseBySoftLimit)
	}
	return true
}
