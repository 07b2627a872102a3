package shard

import (
	"broker/channelstore"
	"broker/resp"
)

// A cursor is where a loop stands in a batch, so that delivery can go on
// behind a subscription whose session paniced.
type cursor struct {
	run   int // index into the batch's targets of this shard
	chunk int
	slot  int
}

// deliver appends a batch's frames to the outboxes of this shard's receivers,
// in the order of publication.
func (l *Loop) deliver(b *batch) {
	l.cursor = cursor{}
	for !l.deliverFrom(b) {
		l.cursor.slot++
	}
	b.release()
}

// deliverFrom delivers from l.cursor on. It returns false when a session
// paniced; that one is doomed and the cursor stands on it.
func (l *Loop) deliverFrom(b *batch) (done bool) {
	current := l.current // not nil inside a command that settles
	defer func() {
		if r := recover(); r != nil {
			l.blame(r)
		}
		l.current = current
	}()
	targets := b.targets[l.id]
	for ; l.cursor.run < len(targets); l.cursor.run++ {
		r := &b.runs[targets[l.cursor.run]]
		part := r.list.Part(l.id)
		for ; l.cursor.chunk < part.Chunks(); l.cursor.chunk++ {
			subs := part.Chunk(l.cursor.chunk)
			for ; l.cursor.slot < len(subs); l.cursor.slot++ {
				sub := subs[l.cursor.slot]
				// A subscription whose end was acked is in no list that can still
				// arrive: the ack waited for them (invariant no-late-message).
				if sub.Owner.state != open {
					continue
				}
				l.current = sub.Owner
				l.deliverTo(sub, b, r)
			}
			l.cursor.slot = 0
		}
		l.cursor.chunk = 0
	}
	return true
}

// deliverTo appends a run to one session's outbox, without a copy where that
// pays.
func (l *Loop) deliverTo(sub *channelstore.Subscription[*Session], b *batch, r *run) {
	s := sub.Owner
	head := r.head
	if s.proto == resp.RESP3 {
		b.makeRESP3(l)
		head = r.head3
	}
	o := s.out
	switch {
	case s.held != nil:
		o = s.held
	case s.behind != nil || s.blocked && l.mayDrop(s):
		l.deliverBehind(sub, b, r, head)
		l.delivered(s, r)
		return
	}
	if o == nil {
		o = l.borrowOutbox()
		o.w.Proto = s.proto
		s.out = o
	}
	o.appendFrame(head, s.blocked)
	if r.body != nil {
		o.reference(r.body)
	}
	l.stats.Deliveries += int64(r.n)
	s.markDirty()
	if o.pending() >= l.pubsubWatch {
		l.checkOutput(s, s.pending())
	}
}

// delivered counts what was appended to the backlog of s.
func (l *Loop) delivered(s *Session, r *run) {
	l.stats.Deliveries += int64(r.n)
	s.markDirty()
	if pending := s.pending(); pending >= l.pubsubWatch {
		l.checkOutput(s, pending)
	}
}
