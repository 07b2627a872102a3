package shard

import "slices"

// Eviction.
//
// Settings.ClientMemory bounds what all sessions together are charged. Each
// loop keeps the sum of what its sessions are owed (owed), which changes at
// flushes, and adds to it what else they hold once per measurePeriod. It
// reports the sum to the group; a loop that sees the total over the limit asks
// every loop for its largest sessions and closes the largest of all until the
// rest fits, as Redis does (redis.io/docs/latest/develop/reference/clients).

// measurePeriod is how often sessions are added up anew, as long as there is a
// limit.
const measurePeriod = int64(tickPeriod)

// reportStep is the change of a loop's sum that is worth telling the group.
const reportStep = 64 << 10

// charge brings the loop's sum up to date with what s is owed.
func (l *Loop) charge(s *Session) {
	var owed int64
	if s.state != closed {
		owed = s.pending()
	}
	l.owed += owed - s.charged
	s.charged = owed
}

// evict reports the loop's sum and begins an eviction when the group is over
// the limit. It runs at the end of each turn.
func (l *Loop) evict() {
	limit := l.settings.ClientMemory
	if limit == 0 {
		l.measureLater = false
		l.report(0)
		return
	}
	if l.now >= l.nextMeasure {
		l.nextMeasure = l.now + measurePeriod
		l.measureLater = false
		l.fixed = 0
		for _, s := range l.sessions {
			if s.state != closed {
				l.fixed += s.fixedMemory()
			}
		}
	} else {
		l.measureLater = true // what this turn brought is added up even if no other turn comes
	}
	l.report(l.fixed + l.owed)
	if l.group.memory.Load() > limit && l.group.evicting.CompareAndSwap(false, true) {
		l.beginEviction(limit)
	}
}

func (l *Loop) report(sum int64) {
	if d := sum - l.reported; d >= reportStep || d <= -reportStep || sum == 0 {
		if d != 0 {
			l.group.memory.Add(d)
			l.reported = sum
		}
	}
}

// A candidate is a session that may be evicted.
type candidate struct {
	session *Session
	bytes   int64
}

// maxCandidates bounds how many sessions one loop names in one round.
const maxCandidates = 1024

// beginEviction collects the largest sessions of every loop and closes the
// largest of all. It ends with group.evicting false.
func (l *Loop) beginEviction(limit int64) {
	g := l.group
	waiting := len(g.loops)
	var all []candidate
	var total int64
	l.Tell(func(o *Loop) {
		sum, largest := o.candidates()
		l.post(func(l *Loop) {
			all = append(all, largest...)
			total += sum
			if waiting--; waiting > 0 {
				return
			}
			l.evictLargest(all, total-limit)
		})
	})
}

// candidates returns the sum of what the loop's sessions are charged and its
// largest ones, those with NO-EVICT left out.
func (l *Loop) candidates() (sum int64, largest []candidate) {
	for _, s := range l.sessions {
		if s.state == closed {
			continue
		}
		n := s.memory()
		sum += n
		if !s.Peek().NoEvict {
			largest = append(largest, candidate{s, n})
		}
	}
	bySize := func(a, b candidate) int { return int(min(1, max(-1, b.bytes-a.bytes))) }
	slices.SortFunc(largest, bySize)
	return sum, largest[:min(len(largest), maxCandidates)]
}

// evictLargest closes the largest of all until excess bytes are gone.
func (l *Loop) evictLargest(all []candidate, excess int64) {
	g := l.group
	slices.SortFunc(all, func(a, b candidate) int { return int(min(1, max(-1, b.bytes-a.bytes))) })
	victims := make([][]candidate, len(g.loops))
	for _, c := range all {
		if excess <= 0 {
			break
		}
		excess -= c.bytes
		victims[c.session.loop.id] = append(victims[c.session.loop.id], c)
	}
	waiting := len(g.loops)
	l.Tell(func(o *Loop) {
		for _, c := range victims[o.id] {
			if c.session.state == closed {
				continue
			}
			o.group.cfg.Log.Warn("evicting a client", "session", c.session.id,
				"addr", c.session.Info().Addr, "name", c.session.Peek().Name, "bytes", c.bytes)
			o.doom(c.session, CloseByMemory)
			o.charge(c.session)
		}
		o.nextMeasure = 0
		l.post(func(l *Loop) {
			if waiting--; waiting == 0 {
				g.evicting.Store(false)
			}
		})
	})
}
