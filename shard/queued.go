package shard

// Queued is what sessions that are behind are owed, and what that occupies. A
// message that a thousand of them are owed counts a thousand times in Owed and
// is held once.
type Queued struct {
	Owed int64 // bytes, as charged to the sessions

	// held are the allocations that queues refer to, by their last byte, and
	// the bytes from the first that is referred to.
	held map[*byte]int
}

// maxQueuedWalk bounds how many pieces of queues one call of Queued looks at.
// What lies beyond is counted as held by nobody else.
const maxQueuedWalk = 200_000

// Queued looks at the queues of the loop's sessions.
func (l *Loop) Queued() Queued {
	q := Queued{held: map[*byte]int{}}
	if l.stats.BehindSessions == 0 {
		return q
	}
	left := maxQueuedWalk
	for _, s := range l.sessions {
		if s.behindSince == 0 {
			continue
		}
		q.Owed += s.pending()
		for _, o := range []*outbox{s.out, s.held} {
			if o == nil {
				continue
			}
			for _, piece := range o.segments[o.head:] {
				q.hold(piece, &left)
			}
			q.hold(o.w.B, &left)
		}
		if b := s.behind; b != nil {
			for i := range b.entries[b.head:] {
				e := &b.entries[b.head+i]
				q.hold(e.head, &left)
				q.hold(e.body, &left)
			}
			q.hold(b.w.B, &left)
		}
	}
	return q
}

// hold counts the allocation that piece is cut from, to whose end it reaches.
func (q *Queued) hold(piece []byte, left *int) {
	if cap(piece) == 0 {
		return
	}
	if *left--; *left < 0 {
		q.held[nil] += len(piece)
		return
	}
	end := &piece[:cap(piece)][cap(piece)-1]
	q.held[end] = max(q.held[end], cap(piece))
}

// Add adds what another loop's sessions are owed.
func (q *Queued) Add(o Queued) {
	q.Owed += o.Owed
	if q.held == nil {
		q.held = map[*byte]int{}
	}
	for end, n := range o.held {
		if end == nil {
			q.held[nil] += n
		} else {
			q.held[end] = max(q.held[end], n)
		}
	}
}

// HeldBytes returns the bytes that the queues occupy.
func (q *Queued) HeldBytes() int64 {
	var sum int64
	for _, n := range q.held {
		sum += int64(n)
	}
	return sum
}
