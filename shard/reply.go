package shard

import "broker/resp"

// Reply returns the writer behind everything that the session already has to
// send. It is valid until the next call of a method that may deliver
// (Subscribe, Unsubscribe, DropSubscriptions, Gather) and at most until Handle
// returns. While the session is muted nothing of it is sent.
func (s *Session) Reply() *resp.Writer {
	if s.out == nil || !s.dirty || s.diverted {
		switch {
		case s.muted:
			return s.loop.nowhere(s.proto)
		case s.behind != nil:
			s.markDirty()
			s.behind.w.Proto = s.proto
			return &s.behind.w
		}
		s.touch()
	}
	return &s.out.w
}

// nowhere returns a writer that nobody reads.
func (l *Loop) nowhere(proto resp.Proto) *resp.Writer {
	l.void.B = l.void.B[:0]
	l.void.Proto = proto
	return &l.void
}

// Push appends b, a complete value that answers no command, behind what the
// session is owed, and behind the reply that is being built if deliveries are
// held. b is copied.
func (s *Session) Push(b []byte) {
	switch {
	case s.held != nil:
		s.held.copyIn(b)
	case s.behind != nil:
		s.markDirty()
		s.behind.w.B = append(s.behind.w.B, b...)
	default:
		s.touch()
		s.out.copyIn(b)
	}
	if pending := s.pending(); pending >= s.loop.normalWatch {
		s.loop.checkOutput(s, pending)
	}
}

// touch borrows an outbox if there is none and makes sure that it is flushed
// in this turn.
func (s *Session) touch() {
	if s.out == nil {
		s.out = s.loop.borrowOutbox()
		s.out.w.Proto = s.proto
		if s.out.w.B == nil {
			s.out.w.B = make([]byte, 0, firstBytes)
		}
	}
	s.markDirty()
}

func (s *Session) markDirty() {
	if !s.dirty {
		s.dirty = true
		s.loop.dirty = append(s.loop.dirty, s)
	}
}

// Mute makes Reply discard what is written, until Unmute. Subscription acks
// written meanwhile are discarded too; messages are not.
func (s *Session) Mute() { s.muted, s.diverted = true, true }

// Unmute ends Mute.
func (s *Session) Unmute() { s.muted, s.diverted = false, s.behind != nil }

// HoldDeliveries keeps everything that is delivered from now on behind what is
// appended to Reply until ReleaseDeliveries, so that no message stands inside
// a reply that takes several steps. What is held counts against the output
// limit.
func (s *Session) HoldDeliveries() {
	if s.held == nil {
		s.held = s.loop.borrowOutbox()
		s.held.w.Proto = s.proto
	}
}

// ReleaseDeliveries appends what was held.
func (s *Session) ReleaseDeliveries() {
	h := s.held
	if h == nil {
		return
	}
	s.held = nil
	switch {
	case h.pending() == 0:
	case s.behind != nil:
		h.seal()
		s.markDirty()
		s.behind.sealOwn()
		for _, b := range h.segments[h.head:] {
			s.behind.appendOwn(b)
		}
		h.w.B, h.mark = nil, 0
	default:
		s.touch()
		s.out.takeOver(h)
	}
	s.loop.returnOutbox(h)
}

// pending returns the number of bytes that the client is owed.
func (s *Session) pending() int64 {
	var n int64
	if s.out != nil {
		n = s.out.pending()
	}
	if s.held != nil {
		n += s.held.pending()
	}
	if s.behind != nil {
		n += s.behind.pending()
	}
	return n
}
