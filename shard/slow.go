package shard

import (
	"time"

	"broker/channelstore"
	"broker/internal/glob"
)

// A SlowKind is what becomes of messages for a subscriber that does not keep
// up.
type SlowKind uint8

const (
	// SlowDisconnect keeps everything and closes the session at its output
	// limit, as Redis does.
	SlowDisconnect SlowKind = iota
	// SlowDropOldest makes room by dropping the oldest undelivered messages.
	SlowDropOldest
	// SlowDropNewest drops what arrives while there is no room.
	SlowDropNewest
	// SlowConflate keeps the newest undelivered message of each channel, and
	// drops the oldest when those do not fit.
	SlowConflate
)

var slowKindNames = [...]string{"disconnect", "drop-oldest", "drop-newest", "conflate"}

func (k SlowKind) String() string { return slowKindNames[k] }

// ParseSlowKind returns the kind of that name, in lower case.
func ParseSlowKind(name string) (SlowKind, bool) {
	for k, n := range slowKindNames {
		if n == name {
			return SlowKind(k), true
		}
	}
	return 0, false
}

// A SlowPolicy is a kind and the bytes of undelivered messages from which a
// dropping kind drops. What the socket has already been given a part of, and
// replies, are never dropped; nor do they count.
type SlowPolicy struct {
	Kind       SlowKind
	LimitBytes int64
}

// SlowPolicies are the policies that a group knows, immutable. The first of
// these that says something holds: the session's own, that of the first
// pattern that matches the channel, that of the session's user, Default.
type SlowPolicies struct {
	Default  SlowPolicy
	Channels []ChannelPolicy
	Users    map[string]SlowPolicy // by the name that SetUser was told
}

// A ChannelPolicy is the policy of the channels whose names match a glob.
type ChannelPolicy struct {
	Pattern string
	SlowPolicy
}

// drops reports whether any policy but the sessions' own may drop.
func (p *SlowPolicies) drops() bool {
	if p == nil {
		return false
	}
	for _, c := range p.Channels {
		if c.Kind != SlowDisconnect {
			return true
		}
	}
	for _, u := range p.Users {
		if u.Kind != SlowDisconnect {
			return true
		}
	}
	return p.Default.Kind != SlowDisconnect
}

// SetSlowPolicy gives the session a policy of its own; nil takes it back.
func (s *Session) SetSlowPolicy(p *SlowPolicy) { s.slow = p }

// SetUser names the user that the session is logged in as, whose policy
// SlowPolicies may know.
func (s *Session) SetUser(name string) { s.user = name }

// SlowPolicy returns the policy for channels that no pattern names, and
// whether it is the session's own.
func (s *Session) SlowPolicy() (p SlowPolicy, own bool) {
	if s.slow != nil {
		return *s.slow, true
	}
	all := s.loop.settings.Slow
	if all == nil {
		return SlowPolicy{}, false
	}
	if p, ok := all.Users[s.user]; ok {
		return p, false
	}
	return all.Default, false
}

// NotifyDrops says whether the session is told of lost messages, by pushes
// "dropped", channel, number. It takes RESP3.
func (s *Session) NotifyDrops(on bool) { s.notifyDrops = on }

// NotifiesDrops returns what NotifyDrops was last told.
func (s *Session) NotifiesDrops() bool { return s.notifyDrops }

// OwedBytes returns the number of bytes that the client is owed, shared with
// others or not.
func (s *Session) OwedBytes() int64 { return s.pending() }

// Dropped returns how many messages the session has lost.
func (s *Session) Dropped() int64 { return s.dropped }

// BehindFor returns for how long the client has been owed something that its
// socket did not take; 0: it keeps up.
func (s *Session) BehindFor() time.Duration {
	if s.behindSince == 0 {
		return 0
	}
	return time.Duration(max(1, s.loop.now-s.behindSince))
}

// mayDrop reports whether deliveries to s, which is behind, may have to be
// dropped.
func (l *Loop) mayDrop(s *Session) bool {
	if s.slow != nil {
		return s.slow.Kind != SlowDisconnect
	}
	return l.slowDrops
}

// slowPolicy returns the policy for a message to s.
func (l *Loop) slowPolicy(s *Session, channel string) SlowPolicy {
	if s.slow != nil {
		return *s.slow
	}
	if p := l.settings.Slow; p != nil {
		for i := range p.Channels {
			if c := &p.Channels[i]; glob.Match(c.Pattern, channel) {
				return c.SlowPolicy
			}
		}
	}
	p, _ := s.SlowPolicy()
	return p
}

// deliverBehind appends a run for a session that is behind and may lose
// messages.
func (l *Loop) deliverBehind(sub *channelstore.Subscription[*Session], b *batch, r *run, head []byte) {
	s := sub.Owner
	q := s.behind
	if q == nil {
		q = &backlog{}
		q.w.Proto = s.proto
		s.behind = q
		s.diverted = true
	}
	starts := b.starts[r.first : r.first+r.n]
	for i, start := range starts {
		end := len(head)
		if i+1 < len(starts) {
			end = int(starts[i+1])
		}
		m := undelivered{sub: sub, head: head[start:end:end], body: r.body}
		channel := m.channel()
		policy := l.slowPolicy(s, channel)
		lost := q.add(m, policy, channel, s.notifyDrops && s.proto == respPush)
		if lost > 0 {
			s.dropped += lost
			l.countDropped(channel, lost)
			l.logDrops(s, policy)
		}
	}
}

// dropLogPeriod is how often a session's losses are logged.
const dropLogPeriod = int64(10 * time.Second)

// logDrops logs, at times, that s loses messages.
func (l *Loop) logDrops(s *Session, policy SlowPolicy) {
	if s.dropLogged != 0 && l.now-s.dropLogged < dropLogPeriod {
		return
	}
	s.dropLogged = max(1, l.now)
	l.group.cfg.Log.Warn("dropping messages for a slow subscriber",
		"session", s.id, "addr", s.Addr(), "name", s.Peek().Name, "policy", policy.Kind.String(),
		"queued_bytes", s.pending(), "dropped", s.dropped)
}
