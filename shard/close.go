package shard

import "time"

// A CloseReason says why a session ended. The same value is counted and
// logged.
type CloseReason uint8

const (
	CloseByClient      CloseReason = iota // the client closed, or the connection broke
	CloseByCommand                        // QUIT, or a command that ends the connection
	CloseByProtocol                       // the input could not be parsed
	CloseByHardLimit                      // output over the hard limit
	CloseBySoftLimit                      // output over the soft limit for too long
	CloseByQueryLimit                     // an incomplete command over the query buffer limit
	CloseByPanic                          // a fault of ours while serving the session
	CloseByShutdown                       // the broker stops
	CloseByKill                           // another client asked for it
	CloseByIdle                           // nothing was sent for longer than the idle timeout
	CloseByAuthTimeout                    // did not authenticate in time
	CloseByMemory                         // evicted, because all clients together held too much
	CloseByRevocation                     // may no longer hold what it has subscribed to, or its user is gone
	closeReasons
)

var closeReasonNames = [closeReasons]string{
	"client", "command", "protocol error", "output hard limit", "output soft limit",
	"query buffer limit", "panic", "shutdown", "killed", "idle", "authentication timeout",
	"evicted", "permission revoked",
}

func (r CloseReason) String() string { return closeReasonNames[r] }

// lingerPeriod is how long a closed connection may take to receive what was
// written and to say that it has closed too.
const lingerPeriod = time.Second

// reapSlice is how many subscriptions of sessions that are gone leave the
// store in one turn.
const reapSlice = 1024

// finish ends a session in good order: nothing more is read from it or
// delivered to it, and it is closed once everything appended so far has been
// sent.
func (l *Loop) finish(s *Session, reason CloseReason) {
	if s.state == open {
		s.state = closing
		s.reason = reason
		s.markDirty()
	}
}

// doom ends a session at once: nothing more is delivered to it, read from it
// or written to it. It is torn down at the end of the turn, so that nobody up
// the stack loses it.
func (l *Loop) doom(s *Session, reason CloseReason) {
	if s.state == closed {
		return
	}
	if reason == CloseByHardLimit || reason == CloseBySoftLimit {
		l.stats.OutputLimitDisconnects++
		l.logSlowClose(s, reason)
	}
	l.stats.Closed[reason]++
	s.state = closed
	l.doomed = append(l.doomed, s)
}

// slowClosesLogged is how many closings of slow clients one loop logs in a
// second; further ones are counted in the next line.
const slowClosesLogged = 10

// logSlowClose logs that s is closed for what it left unread, unless there were
// many such lines.
func (l *Loop) logSlowClose(s *Session, reason CloseReason) {
	if second := l.now / int64(time.Second); second != l.closeLog.second {
		l.closeLog.second, l.closeLog.lines = second, 0
	}
	if l.closeLog.lines++; l.closeLog.lines > slowClosesLogged {
		l.closeLog.skipped++
		return
	}
	attrs := []any{"session", s.id, "addr", s.Addr(), "name", s.Peek().Name,
		"reason", reason.String(), "queued_bytes", s.pending()}
	if l.closeLog.skipped > 0 {
		attrs = append(attrs, "not_logged", l.closeLog.skipped)
		l.closeLog.skipped = 0
	}
	text := "closing a slow subscriber"
	if s.anonymous {
		text = "closing a client that has not logged in and does not read"
	}
	l.group.cfg.Log.Warn(text, attrs...)
}

// bury tears the doomed sessions down.
func (l *Loop) bury() {
	for i := 0; i < len(l.doomed); i++ {
		s := l.doomed[i]
		l.doomed[i] = nil
		l.tearDown(s)
	}
	l.doomed = l.doomed[:0]
}

// dropForClose takes a slice of a closing session's subscriptions out of the
// store and reports whether none is left. A client that sees the end of its
// connection can rely on not being counted any more.
func (l *Loop) dropForClose(s *Session) bool {
	n := min(len(s.subs.list), reapSlice)
	if n == 0 || l.stopAt != 0 {
		return true
	}
	cut := len(s.subs.list) - n
	l.group.store.Unsubscribe(s.subs.list[cut:])
	clear(s.subs.list[cut:])
	s.subs.list, s.subs.index = s.subs.list[:cut], nil
	if cut > 0 {
		l.enqueue(s)
		return false
	}
	return true
}

// tearDown closes the socket and lets go of everything a session holds, once.
// The subscriptions of a session that holds many leave the store in slices.
func (l *Loop) tearDown(s *Session) {
	if l.group.cfg.Ended != nil {
		l.group.cfg.Ended(s)
	}
	l.leaveStore(s) // before the client can see the end
	l.driver.remove(s)
	last := len(l.sessions) - 1
	l.sessions[s.index] = l.sessions[last]
	l.sessions[s.index].index = s.index
	l.sessions[last] = nil
	l.sessions = l.sessions[:last]
	delete(l.waiting, s)
	if s.out != nil {
		// Not pooled: a queue that was cut off may be large.
		s.out = nil
	}
	s.held, s.behind = nil, nil
	l.caughtUp(s)
	l.charge(s)
	l.dropInput(s)
	s.next, s.then = nil, nil
	l.load.Add(-1)
	l.group.sessions.Add(-1)
}

// leaveStore takes the subscriptions of a session that has ended out of the
// store, those of a session that holds many in slices.
func (l *Loop) leaveStore(s *Session) {
	if s.Subscribed() {
		l.stats.SubscriberSessions--
		s.counts = [3]int32{}
	}
	if len(s.subs.list) > 0 {
		l.reaping = append(l.reaping, s.subs.takeList())
		l.reap()
	}
}

// reap removes the subscriptions of sessions that are gone, a slice per call.
func (l *Loop) reap() {
	budget := reapSlice
	for len(l.reaping) > 0 && budget > 0 {
		last := len(l.reaping) - 1
		list := l.reaping[last]
		n := min(budget, len(list))
		cut := len(list) - n
		l.group.store.Unsubscribe(list[cut:])
		budget -= n
		clear(list[cut:])
		if cut == 0 {
			l.reaping[last] = nil
			l.reaping = l.reaping[:last]
		} else {
			l.reaping[last] = list[:cut]
		}
	}
}

// linger closes the sending side of a session that has been answered in full,
// and the connection once the client has everything: closing a socket with
// unread input would make the system discard what is still on its way.
func (l *Loop) linger(s *Session) {
	s.state = lingering
	s.softSince = l.now
	l.dropInput(s)
	l.driver.shutdownWrite(s)
	l.discard(s)
	if s.state == lingering && !l.checkLinger(s) {
		s.deaf = false
		l.driver.interest(s)
		l.await(s)
	}
}

// checkLinger dooms a lingering session that has nothing left to wait for and
// reports whether it did.
func (l *Loop) checkLinger(s *Session) bool {
	if l.now-s.softSince > int64(lingerPeriod) || l.driver.delivered(s) {
		l.doom(s, s.reason)
		return true
	}
	return false
}

// discard reads and drops some of what a lingering client still sends. One read
// a turn, as for everybody else: a thousand of them must not hold up a loop.
func (l *Loop) discard(s *Session) {
	if _, err := l.driver.read(s, l.readBuf); err != nil {
		l.doom(s, s.reason)
	}
}
