package shard

import (
	"io"
	"time"
)

// A simLoop is a loop as a coroutine, and its driver.
type simLoop struct {
	sim  *simulation
	loop *Loop

	next func() (struct{}, bool)
	stop func()
	// yield hands control to the scheduler; it returns false once the run ends.
	yield func(struct{}) bool

	woken    bool
	waiting  bool
	deadline int64 // for wait, nanoseconds since the group's start; negative: none
	watched  []*simClient
}

// pause lets the scheduler run something else.
func (d *simLoop) pause() {
	if !d.loop.stopped {
		d.yield(struct{}{})
	}
}

// runnable reports whether the loop has something to go on with.
func (d *simLoop) runnable() bool {
	if !d.waiting || d.woken {
		return true
	}
	if d.deadline >= 0 && d.sim.now() >= d.deadline {
		return true
	}
	return len(d.collect(nil)) > 0
}

func (d *simLoop) ownThread() bool { return false }

func (d *simLoop) poll(events []event) []event {
	d.pause()
	return d.collect(events)
}

func (d *simLoop) wait(events []event, timeout time.Duration) []event {
	d.deadline = -1
	if timeout >= 0 {
		d.deadline = d.sim.now() + int64(timeout)
	}
	d.waiting = true
	d.pause()
	d.waiting, d.woken = false, false
	return d.collect(events)
}

func (d *simLoop) wake() {
	if d.sim.fault == simLostWakeUp && d.sim.r.IntN(4) == 0 {
		return
	}
	d.woken = true
}

// collect appends what the watched connections are ready for.
func (d *simLoop) collect(events []event) []event {
	for _, c := range d.watched {
		e := event{session: c.session}
		e.readable = !c.session.deaf && (len(c.in) > 0 || c.eof)
		e.writable = c.session.blocked && (c.room > 0 || c.broken)
		e.broken = c.broken
		if e.readable || e.writable || e.broken {
			events = append(events, e)
		}
	}
	return events
}

func (d *simLoop) add(s *Session) error {
	c := d.sim.clients[s.fd]
	c.session = s
	d.watched = append(d.watched, c)
	return nil
}

func (d *simLoop) interest(*Session) {}

func (d *simLoop) read(s *Session, buf []byte) (int, error) {
	c := d.sim.clients[s.fd]
	switch {
	case len(c.in) > 0:
		n := copy(buf, c.in)
		c.in = c.in[n:]
		return n, nil
	case c.broken:
		return 0, io.ErrClosedPipe
	case c.eof:
		return 0, errEOF
	}
	return 0, nil
}

func (d *simLoop) write(s *Session, b []byte) (int, error) {
	d.pause()
	c := d.sim.clients[s.fd]
	if c.broken {
		return 0, io.ErrClosedPipe
	}
	n := min(len(b), c.room)
	c.room -= n
	c.receive(b[:n])
	if n < len(b) {
		return n, errAgain
	}
	return n, nil
}

func (d *simLoop) writev(s *Session, bs [][]byte) (int, error) {
	total := 0
	for _, b := range bs {
		n, err := d.write(s, b)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (d *simLoop) drained(*Session) {}

func (d *simLoop) shutdownWrite(s *Session) {
	c := d.sim.clients[s.fd]
	c.eof = true // a client that sees the end closes its side
}

func (d *simLoop) delivered(*Session) bool { return true }

func (d *simLoop) remove(s *Session) {
	c := d.sim.clients[s.fd]
	c.gone = true
	for i, w := range d.watched {
		if w == c {
			d.watched = append(d.watched[:i], d.watched[i+1:]...)
			break
		}
	}
}

func (d *simLoop) addrs(*Session) (remote, local string) { return "client:1", "broker:1" }

func (d *simLoop) close() {}
