package shard

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conns moves the bytes of the sessions of one loop whose connection is a
// net.Conn: all of them under the net driver, those with TLS under the epoll
// driver, which embeds one beside its descriptors.
//
// Two kinds of goroutine stand between such a session and its connection: a
// reader per session, which ends when the connection does, and a writer for
// as long as there is something to write. They may block; they touch only the
// netConn, under its mutex. The session stays the loop's (invariant one-loop),
// and the loop waits for neither (invariant never-wait).
//
// Methods without another word are called on the loop's goroutine.
type conns struct {
	group *Group // immutable

	// Atomic. Set after an event was queued, cleared before they are taken: a
	// loop that has announced that it sleeps and finds it false will be woken.
	pending atomic.Bool

	mu sync.Mutex
	// Guarded by mu: what the goroutines have to report.
	ready []netEvent

	// Owned by the loop.
	taken  []netEvent // what poll took, recycled
	handed bool       // a reader or a writer was given something to do since yield
}

type netEvent struct {
	session  *Session
	writable bool
}

const (
	// netChunkBytes is the size of the buffer of a reader that is busy, and the
	// most that a writer holds beyond what the connection has taken.
	netChunkBytes = 16 << 10

	// netIdleBytes is the size of the buffer of a reader that has little to
	// read, which most sessions are.
	netIdleBytes = 1 << 10

	// goodbyePeriod is how long the last record of a connection that is given
	// up, TLS's close notification, may wait for room.
	goodbyePeriod = 250 * time.Millisecond
)

// A netConn is a session's connection where that is a net.Conn.
type netConn struct {
	// Immutable after newNetConn.
	loop *Loop
	conn net.Conn
	raw  net.Conn // what conn speaks TLS over; conn itself where it does not
	fd   int      // of raw, to be shown only; -1 where it has none

	more chan struct{} // capacity 1: the loop has taken what was read

	mu sync.Mutex
	// Guarded by mu.
	in       []byte // read and not taken
	inErr    error  // what ended reading
	out      []byte // accepted and not written
	writing  bool   // a writer goroutine runs
	outErr   error
	full     bool // the loop was told errAgain and waits for an event
	closing  bool // end the sending side once out is empty
	closed   bool
	late     *time.Timer // the connection is the writer's to close, until then
	reported bool        // an input event is under way
}

func newNetConn(l *Loop, c net.Conn) *netConn {
	nc := &netConn{loop: l, conn: c, raw: c, fd: -1, more: make(chan struct{}, 1)}
	if layered, ok := c.(interface{ NetConn() net.Conn }); ok {
		nc.raw = layered.NetConn()
	}
	if sc, ok := nc.raw.(syscall.Conn); ok {
		if rc, err := sc.SyscallConn(); err == nil {
			_ = rc.Control(func(fd uintptr) { nc.fd = int(fd) })
		}
	}
	return nc
}

// poll appends what the goroutines have reported.
func (d *conns) poll(events []event) []event {
	if !d.pending.Load() {
		return events
	}
	d.pending.Store(false)
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

// yield lets the readers and writers run that were given something to do. A
// loop with a thread of its own would otherwise keep its processor from them,
// in a busy poll or on its way into a wait of which the scheduler learns late:
// with two shards busy on two cores, the median of a PING over TLS is 310 to
// 390 µs with it and 450 µs without.
func (d *conns) yield() {
	if d.handed {
		d.handed = false
		runtime.Gosched()
	}
}

// report queues an event and wakes the loop. Any goroutine may call it.
func (d *conns) report(s *Session, writable bool) {
	d.mu.Lock()
	d.ready = append(d.ready, netEvent{s, writable})
	d.mu.Unlock()
	d.pending.Store(true)
	s.nc.loop.wakeIfAsleep()
}

func (d *conns) add(s *Session) error {
	d.group.helpers.Go(func() { d.readLoop(s) })
	return nil
}

// readLoop is the reader goroutine of one session. It ends with the
// connection.
func (d *conns) readLoop(s *Session) {
	nc := s.nc
	buf := make([]byte, netIdleBytes)
	for {
		n, err := s.readConn(buf)
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
		if busy := n == len(buf) || n > netIdleBytes; busy != (len(buf) > netIdleBytes) {
			if busy {
				buf = make([]byte, netChunkBytes)
			} else {
				buf = make([]byte, netIdleBytes)
			}
		}
	}
}

func (d *conns) interest(s *Session) {
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

func (d *conns) read(s *Session, buf []byte) (int, error) {
	nc := s.nc
	nc.mu.Lock()
	n := copy(buf, nc.in)
	nc.in = nc.in[n:]
	err := nc.inErr
	rest := len(nc.in) > 0
	if !rest {
		nc.in = nil // an idle session keeps no large buffer alive
	}
	again := n > 0 && (rest || err != nil) && !nc.reported
	if again {
		nc.reported = true
	}
	nc.mu.Unlock()
	switch {
	case again:
		d.report(s, false)
	case n > 0 && !rest && err == nil:
		d.handed = true
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

func (d *conns) write(s *Session, b []byte) (int, error) {
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
		d.handed = true
		d.group.helpers.Go(func() { d.writeLoop(s) })
	}
	if full {
		return n, errAgain
	}
	return n, nil
}

func (d *conns) writev(s *Session, bs [][]byte) (int, error) {
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
func (d *conns) writeLoop(s *Session) {
	nc := s.nc
	var b []byte
	for {
		nc.mu.Lock()
		b, nc.out = nc.out, b[:0]
		if len(b) == 0 {
			nc.out = nil
			nc.writing = nc.closing
			shut := nc.closing
			full := nc.full
			nc.full = false
			nc.mu.Unlock()
			if shut {
				closeWrite(nc.conn)
				nc.endWriter()
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
		if err := s.writeConn(b); err != nil {
			nc.mu.Lock()
			nc.outErr = err
			nc.out = nil
			nc.mu.Unlock()
			b = nil
		}
	}
}

func (s *Session) readConn(buf []byte) (n int, err error) {
	defer s.blameForPanic(&err)
	return s.nc.conn.Read(buf)
}

func (s *Session) writeConn(b []byte) (err error) {
	defer s.blameForPanic(&err)
	_, err = s.nc.conn.Write(b)
	return err
}

var errPanic = errors.New("shard: panic in a connection")

// blameForPanic, deferred, turns a panic of a connection's own code into the
// end of its session alone, and into an error for the caller.
func (s *Session) blameForPanic(err *error) {
	r := recover()
	if r == nil {
		return
	}
	*err = errPanic
	cause := fmt.Sprintf("%v in a connection: %s", r, debug.Stack())
	s.nc.loop.post(func(l *Loop) {
		l.current = s
		l.blame(cause)
	})
}

// shutdownWrite leaves the end of the sending side to a writer: with TLS it is
// a record, which may have to wait for room.
func (d *conns) shutdownWrite(s *Session) {
	nc := s.nc
	nc.mu.Lock()
	nc.closing = true
	start := !nc.writing
	nc.writing = true
	nc.mu.Unlock()
	if start {
		d.group.helpers.Go(func() { d.writeLoop(s) })
	}
}

// delivered can tell only that the writer is done; the rest is left to the
// client's own close, or to the end of the linger period.
func (d *conns) delivered(s *Session) bool {
	nc := s.nc
	nc.mu.Lock()
	defer nc.mu.Unlock()
	return nc.outErr != nil
}

// remove closes the connection. Where the session ended in good order and its
// writer is not done yet, the writer closes it, within a period; and where the
// last word is a record that may have to wait, a goroutine says it.
func (d *conns) remove(s *Session) {
	nc := s.nc
	nc.mu.Lock()
	nc.closed = true
	well := nc.outErr == nil
	finishing := well && nc.closing && nc.writing
	if finishing {
		nc.late = time.AfterFunc(goodbyePeriod, func() { _ = nc.raw.Close() })
	}
	polite := well && nc.layered() && !nc.writing && !nc.closing
	nc.mu.Unlock()
	select {
	case nc.more <- struct{}{}: // let a reader that waits go on to its end
	default:
	}
	switch {
	case finishing:
	case polite:
		d.group.helpers.Go(nc.sayGoodbye)
	default:
		_ = nc.raw.Close()
	}
}

// endWriter is the end of the writer that has closed the sending side.
func (nc *netConn) endWriter() {
	nc.mu.Lock()
	nc.writing = false
	late := nc.late
	nc.mu.Unlock()
	if late != nil {
		late.Stop()
		_ = nc.raw.Close()
	}
}

// layered reports whether closing the connection means to write something
// first.
func (nc *netConn) layered() bool { return nc.raw != nc.conn }

// sayGoodbye closes a connection that nobody writes to any more with TLS's
// close notification, or without it where that would have to wait.
func (nc *netConn) sayGoodbye() {
	late := time.AfterFunc(goodbyePeriod, func() { _ = nc.raw.Close() })
	_ = nc.conn.Close()
	late.Stop()
}

func (d *conns) addrs(s *Session) (remote, local string) {
	c := s.nc.conn
	if s.unix {
		path := c.LocalAddr().String()
		return path + ":0", path + ":0"
	}
	return c.RemoteAddr().String(), c.LocalAddr().String()
}

func closeWrite(c net.Conn) {
	if c, ok := c.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
		return
	}
	_ = c.Close()
}
