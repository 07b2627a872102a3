package shard

import "time"

// Suspend stops the session's commands; what it has sent waits, deliveries go
// on. The returned function may be called from any goroutine, once: it runs f
// on the session's loop and lets the commands go on, unless f suspends them
// again. When the session has ended meanwhile, f is not run.
func (s *Session) Suspend() (resume func(f func())) {
	s.suspend()
	l := s.loop
	return func(f func()) {
		l.post(func(*Loop) {
			if s.state != closed {
				s.resumeAfter(f)
			}
		})
	}
}

// Delay stops the session's commands for d and then calls f on its loop.
func (s *Session) Delay(d time.Duration, f func()) {
	resume := s.Suspend()
	time.AfterFunc(d, func() { resume(f) })
}

// Offload runs work, which may block, on a goroutine of its own, and then done
// on s's loop with the result. s runs no further command until done has
// returned; done is not called when s ends first. work must end: Shutdown waits
// for it. A panic in it is logged, and is the end of s.
func Offload[R any](s *Session, work func() R, done func(R)) {
	resume := s.Suspend()
	s.loop.group.helpers.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				s.loop.post(func(l *Loop) {
					l.current = s
					l.blame(p)
				})
			}
		}()
		r := work()
		resume(func() { done(r) })
	})
}

// Suspended reports whether the command that ran last is not finished.
func (s *Session) Suspended() bool { return s.suspended }

// AfterCommand calls f when the command that runs is finished: at once, unless
// it has suspended the session. There is at most one such f at a time.
func (s *Session) AfterCommand(f func()) {
	if !s.suspended {
		f()
		return
	}
	s.then = f
}

// suspend stops the session's commands until resumeAfter; the rest of what was
// read waits.
func (s *Session) suspend() { s.suspended = true }

// resumeAfter ends a suspension with f, and lets the session's commands go on
// unless f has suspended it again. A panic in f is the session's.
func (s *Session) resumeAfter(f func()) {
	s.loop.current = s
	s.suspended = false
	f()
	s.finishCommand()
	if !s.suspended {
		s.loop.enqueue(s)
	}
}

// finishCommand calls what waits for the end of a command that had suspended
// the session.
func (s *Session) finishCommand() {
	for !s.suspended && s.then != nil {
		f := s.then
		s.then = nil
		f()
	}
}
