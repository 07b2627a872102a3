package shard

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// netDriver serves sessions over net.Conn, for systems without epoll, for
// transports that are not sockets, and for tests with connections in memory.
//
// Two kinds of goroutine stand between a session and its connection: a reader
// per session, which ends when the connection does, and a writer for as long
// as there is something to write. They touch only the netConn, under its
// mutex; the session stays the loop's (invariant one-loop).
type netDriver struct {
	group *Group
	woken chan struct{} // capacity 1: a wake-up that is not taken yet

	mu sync.Mutex
	// Guarded by mu: what the goroutines have to report.
	ready []netEvent

	taken []netEvent // owned by the loop: what poll took, recycled
}

type netEvent struct {
	session  *Session
	writable bool
}

// netChunkBytes is the size of a reader's buffer, and the most that a writer
// holds beyond what the connection has taken.
const netChunkBytes = 16 << 10

// A netConn is a session's connection under the net driver.
type netConn struct {
	conn net.Conn
	more chan struct{} // capacity 1: the loop has taken what was read

	mu sync.Mutex
	// Guarded by mu.
	in       []byte // read and not taken
	inErr    error  // what ended reading
	out      []byte // accepted and not written
	writing  bool   // a writer goroutine runs
	outErr   error
	full     bool // the loop was told errAgain and waits for an event
	closing  bool // shut the sending side down once out is empty
	closed   bool
	reported bool // an input event is under way
}

func newNetConn(c net.Conn) *netConn {
	return &netConn{conn: c, more: make(chan struct{}, 1)}
}

func newNetDriver(g *Group) *netDriver {
	return &netDriver{group: g, woken: make(chan struct{}, 1)}
}

func (d *netDriver) ownThread() bool { return false }

func (d *netDriver) poll(events []event) []event {
	d.mu.Lock()
	d.taken, d.ready = d.ready, d.taken[:0]
	d.mu.Unlock()
	for i, e := range d.taken {
		d.taken[i] = netEvent{}
		if e.session.state == closed {
			continue
		}
		ev := event{session: e.session, writable: e.writable}
		if !e.writable {
			e.session.nc.mu.Lock()
			e.session.nc.reported = false
			e.session.nc.mu.Unlock()
			ev.readable = !e.session.deaf
		}
		events = append(events, ev)
	}
	return events
}

func (d *netDriver) wait(events []event, timeout time.Duration) []event {
	if timeout < 0 {
		<-d.woken
	} else {
		t := time.NewTimer(timeout)
		select {
		case <-d.woken:
		case <-t.C:
		}
		t.Stop()
	}
	return d.poll(events)
}

func (d *netDriver) wake() {
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

// report queues an event from a reader or a writer and wakes the loop.
func (d *netDriver) report(s *Session, writable bool) {
	d.mu.Lock()
	d.ready = append(d.ready, netEvent{s, writable})
	d.mu.Unlock()
	d.wake()
}

func (d *netDriver) add(s *Session) error {
	d.group.helpers.Go(func() { d.readLoop(s) })
	return nil
}

// readLoop is the reader goroutine of one session. It ends with the
// connection.
func (d *netDriver) readLoop(s *Session) {
	nc := s.nc
	buf := make([]byte, netChunkBytes)
	for {
		n, err := nc.conn.Read(buf)
		if n == 0 && err == nil {
			continue
		}
		nc.mu.Lock()
		nc.in, nc.inErr = buf[:n], err
		ended := nc.closed || err != nil
		nc.reported = true
		nc.mu.Unlock()
		d.report(s, false)
		if ended {
			return
		}
		<-nc.more
	}
}

func (d *netDriver) interest(s *Session) {
	nc := s.nc
	nc.mu.Lock()
	again := !s.deaf && !nc.reported && (len(nc.in) > 0 || nc.inErr != nil)
	if again {
		nc.reported = true
	}
	nc.mu.Unlock()
	if again {
		d.report(s, false)
	}
}

func (d *netDriver) read(s *Session, buf []byte) (int, error) {
	nc := s.nc
	nc.mu.Lock()
	n := copy(buf, nc.in)
	nc.in = nc.in[n:]
	err := nc.inErr
	rest := len(nc.in) > 0
	again := n > 0 && (rest || err != nil) && !nc.reported
	if again {
		nc.reported = true
	}
	nc.mu.Unlock()
	switch {
	case again:
		d.report(s, false)
	case n > 0 && !rest && err == nil:
		nc.more <- struct{}{} // one for each chunk, which the reader takes: never full
	}
	switch {
	case n > 0 || err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		return 0, errEOF
	}
	return 0, err
}

func (d *netDriver) write(s *Session, b []byte) (int, error) {
	nc := s.nc
	nc.mu.Lock()
	if err := nc.outErr; err != nil {
		nc.mu.Unlock()
		return 0, err
	}
	n := min(len(b), netChunkBytes-len(nc.out))
	nc.out = append(nc.out, b[:n]...)
	start := !nc.writing && n > 0
	if start {
		nc.writing = true
	}
	full := n < len(b)
	if full {
		nc.full = true
	}
	nc.mu.Unlock()
	if start {
		d.group.helpers.Go(func() { d.writeLoop(s) })
	}
	if full {
		return n, errAgain
	}
	return n, nil
}

func (d *netDriver) writev(s *Session, bs [][]byte) (int, error) {
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

// writeLoop is the writer goroutine of one session, for as long as there is
// something to write.
func (d *netDriver) writeLoop(s *Session) {
	nc := s.nc
	var b []byte
	for {
		nc.mu.Lock()
		b, nc.out = nc.out, b[:0]
		if len(b) == 0 {
			nc.writing = false
			nc.out = nil
			shut := nc.closing
			full := nc.full
			nc.full = false
			nc.mu.Unlock()
			if shut {
				closeWrite(nc.conn)
			}
			if full {
				d.report(s, true)
			}
			return
		}
		full := nc.full
		nc.full = false
		nc.mu.Unlock()
		if full {
			d.report(s, true)
		}
		if _, err := nc.conn.Write(b); err != nil {
			nc.mu.Lock()
			nc.outErr = err
			nc.out = nil
			nc.mu.Unlock()
			b = nil
		}
	}
}

func (d *netDriver) drained(*Session) {}

func (d *netDriver) shutdownWrite(s *Session) {
	nc := s.nc
	nc.mu.Lock()
	nc.closing = true
	now := !nc.writing
	nc.mu.Unlock()
	if now {
		closeWrite(nc.conn)
	}
}

// delivered can tell only that the writer is done; the rest is left to the
// client's own close, or to the end of the linger period.
func (d *netDriver) delivered(s *Session) bool {
	nc := s.nc
	nc.mu.Lock()
	defer nc.mu.Unlock()
	return nc.outErr != nil
}

func (d *netDriver) remove(s *Session) {
	nc := s.nc
	nc.mu.Lock()
	nc.closed = true
	nc.mu.Unlock()
	select {
	case nc.more <- struct{}{}: // let a reader that waits go on to its end
	default:
	}
	_ = nc.conn.Close()
}

func (d *netDriver) addrs(s *Session) (remote, local string) {
	c := s.nc.conn
	if s.unix {
		path := c.LocalAddr().String()
		return path + ":0", path + ":0"
	}
	return c.RemoteAddr().String(), c.LocalAddr().String()
}

func (d *netDriver) close() {}

func closeWrite(c net.Conn) {
	if c, ok := c.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
		return
	}
	_ = c.Close()
}
