package shard

// flushDirty writes what this turn appended, once per session, newest first:
// receivers stand behind the publishers that were answered before, and have the
// message some 5 µs earlier when they need not wait for those replies.
func (l *Loop) flushDirty() {
	for n := len(l.dirty); n > 0; n = len(l.dirty) {
		s := l.dirty[n-1]
		l.dirty[n-1] = nil
		l.dirty = l.dirty[:n-1]
		s.dirty = false
		if s.state != closed {
			l.flush(s)
		}
	}
}

// flush writes as much of the outbox as the socket takes. It never blocks: a
// client that does not keep up is left for the driver to announce (invariant
// never-wait).
func (l *Loop) flush(s *Session) {
	if s.blocked {
		l.charge(s)
		l.throttle(s)
		return
	}
	if s.out != nil || s.behind != nil {
		if s.out == nil {
			s.out = l.borrowOutbox()
			s.out.w.Proto = s.proto
		}
		o := s.out
		s.lastActive = l.now
		for {
			for o.pending() > 0 {
				n, err := l.writeOnce(s, o)
				l.stats.NetOutputBytes += int64(n)
				if err == errAgain {
					s.blocked = true
					if s.behindSince == 0 {
						s.behindSince = max(1, l.now)
						l.stats.BehindSessions++
					}
					l.driver.interest(s)
					l.charge(s)
					l.throttle(s)
					return
				}
				if err != nil {
					l.doom(s, CloseByClient)
					return
				}
			}
			if s.behind == nil {
				break
			}
			if !s.behind.refill(o) {
				s.behind, s.diverted = nil, s.muted
			}
		}
		s.out = nil
		l.returnOutbox(o)
		s.softSince = 0
		l.caughtUp(s)
		if s.charged != 0 {
			l.charge(s)
		}
	}
	l.driver.drained(s)
	l.throttle(s)
	if s.state == closing && l.dropForClose(s) {
		l.linger(s)
	}
}

// caughtUp is called when s owes its client nothing any more, or has ended.
func (l *Loop) caughtUp(s *Session) {
	if s.behindSince != 0 {
		s.behindSince = 0
		l.stats.BehindSessions--
	}
}

// writeOnce makes one write system call and drops what it wrote.
func (l *Loop) writeOnce(s *Session, o *outbox) (int, error) {
	if o.head == len(o.segments) {
		n, err := l.driver.write(s, o.w.B[o.mark:])
		o.mark += n
		return n, err
	}
	o.seal()
	n, err := l.driver.writev(s, o.segments[o.head:])
	if n > 0 {
		o.consume(n)
	}
	return n, err
}

// throttle stops reading a client that does not read its replies, and goes on
// when it has read half of them. It concerns sessions without an output limit
// only; the others are closed by theirs.
func (l *Loop) throttle(s *Session) {
	limit := l.group.cfg.ReplyBacklogBytes
	pending := s.pending()
	switch {
	case !s.throttled && pending > limit && s.outputLimit().HardBytes == 0:
		s.throttled = true
		l.deafen(s)
	case s.throttled && pending <= limit/2:
		s.throttled = false
		switch {
		case s.next != nil:
			l.enqueue(s)
		case s.state == open && !s.suspended:
			l.listen(s)
			l.enqueue(s)
		}
	}
}
