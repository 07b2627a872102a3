package broker

import (
	"container/list"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"broker/shard"
)

const (
	// maxHandshakes bounds the handshakes in progress. With maxHandshakeBytes
	// it bounds what clients that nobody knows make the broker hold.
	maxHandshakes = 256

	// handshakePeriod is how long a handshake may take: a client that connects
	// and says nothing, or says it a byte at a time, is closed then.
	handshakePeriod = 5 * time.Second

	// crowdedPeriod takes its place while maxHandshakes are in progress, so
	// that those who say nothing do not keep the others out for long.
	crowdedPeriod = time.Second

	// alertPeriod is how long a client may take to see why its handshake has
	// failed, and maxAfterAlertBytes the most it may send meanwhile.
	alertPeriod        = 200 * time.Millisecond
	maxAfterAlertBytes = 64 << 10
)

// handshakes are the connections of TLS ports that are not sessions yet. Each
// has a goroutine, which ends with the handshake: neither an acceptor nor a
// loop waits for a client's next word.
//
// A place is taken before a connection is given its goroutine; when there is
// none, the acceptor waits, and further connections stay in the backlog. So a
// crowd that comes back at once is served in order, as fast as the processors
// can.
type handshakes struct {
	// Immutable.
	period, crowded time.Duration
	places          chan struct{} // one element for each handshake in progress

	goroutines sync.WaitGroup

	// Atomic. Taken places, and connections that have just become sessions;
	// they count as clients.
	count atomic.Int64

	// Atomic, for whoever asks.
	done, failed atomic.Int64

	mu sync.Mutex
	// Guarded by mu.
	waiting list.List // of *handshake, oldest first
}

type handshake struct {
	conn  net.Conn
	begun time.Time
}

func newHandshakes(limit int, period, crowded time.Duration) *handshakes {
	return &handshakes{period: period, crowded: crowded, places: make(chan struct{}, limit)}
}

// take waits for a place until stop is closed, and reports whether it has one.
func (h *handshakes) take(stop <-chan struct{}) bool {
	for {
		select {
		case h.places <- struct{}{}:
			h.count.Add(1)
			return true
		default:
		}
		again := time.NewTimer(h.evict(time.Now()))
		select {
		case h.places <- struct{}{}:
			again.Stop()
			h.count.Add(1)
			return true
		case <-again.C:
		case <-stop:
			again.Stop()
			return false
		}
	}
}

func (h *handshakes) leave() {
	h.count.Add(-1)
	<-h.places
}

// evict closes the handshakes that have lasted for the crowded period, and
// returns when there may be more of them.
func (h *handshakes) evict(now time.Time) time.Duration {
	var old []net.Conn
	next := h.crowded
	h.mu.Lock()
	for e := h.waiting.Front(); e != nil; e = h.waiting.Front() {
		hs := e.Value.(*handshake)
		if left := h.crowded - now.Sub(hs.begun); left > 0 {
			next = left
			break
		}
		old = append(old, hs.conn)
		h.waiting.Remove(e)
	}
	h.mu.Unlock()
	for _, c := range old {
		_ = c.Close()
	}
	return next
}

func (h *handshakes) begin(c net.Conn) *list.Element {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting.PushBack(&handshake{c, time.Now()})
}

// end takes a handshake off the list and reports whether it was there: if not,
// its connection has been closed.
func (h *handshakes) end(e *list.Element) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.waiting.Len()
	h.waiting.Remove(e) // nothing, if it is not in the list
	return h.waiting.Len() < before
}

// stop closes all connections and waits for their goroutines. Nobody may call
// take any more.
func (h *handshakes) stop() {
	h.mu.Lock()
	var all []net.Conn
	for e := h.waiting.Front(); e != nil; e = h.waiting.Front() {
		all = append(all, e.Value.(*handshake).conn)
		h.waiting.Remove(e)
	}
	h.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
	h.goroutines.Wait()
}

var errHandshakeCut = errors.New("closed before its end")

// startTLS makes a handshake on a connection that has just been accepted, in a
// goroutine of its own, and gives it to a shard. It waits for a place.
func (b *Broker) startTLS(c net.Conn, conn shard.Conn) {
	if b.full() {
		// There is no way to say so before the handshake, as in Redis.
		b.rejected.Add(1)
		_ = c.Close()
		return
	}
	h := b.handshakes
	if !h.take(b.stopping) {
		_ = c.Close()
		return
	}
	e := h.begin(c)
	h.goroutines.Go(func() {
		defer h.leave()
		secure, err := b.shakeHands(c)
		if !h.end(e) && err == nil {
			err = errHandshakeCut
		}
		if err != nil {
			h.failed.Add(1)
			b.logFailedHandshake(c, err)
			closeAfterAlert(c, err)
			return
		}
		h.done.Add(1)
		conn.Net = secure
		if b.protects(conn) {
			b.rejected.Add(1)
			refuse(secure, protectedError)
			return
		}
		b.group.Adopt(conn)
	})
}

// closeAfterAlert closes a connection whose handshake has failed. What the
// client may have sent behind it is read and dropped for a moment: closing a
// socket with unread input would make the system discard the alert that says
// what was wrong. Who speaks no TLS was sent none.
func closeAfterAlert(c net.Conn, err error) {
	var noTLS tls.RecordHeaderError
	if half, ok := c.(interface{ CloseWrite() error }); ok && !errors.As(err, &noTLS) && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(alertPeriod))
		_, _ = io.CopyN(io.Discard, c, maxAfterAlertBytes)
	}
	_ = c.Close()
}

// shakeHands makes the handshake within its period. A panic, which would be a
// fault of the library, costs the one connection.
func (b *Broker) shakeHands(c net.Conn) (secure *tls.Conn, err error) {
	defer func() {
		if r := recover(); r != nil {
			b.log.Error("panic in a handshake", "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	cfg := b.tls.config()
	if cfg == nil {
		return nil, errHandshakeCut // the port was closed meanwhile
	}
	if err := c.SetDeadline(time.Now().Add(b.handshakes.period)); err != nil {
		return nil, err
	}
	metered := newMeteredConn(c)
	secure = tls.Server(metered, cfg)
	if err := secure.Handshake(); err != nil {
		return nil, err
	}
	metered.lift()
	return secure, c.SetDeadline(time.Time{})
}

// logFailedHandshake says at a level that is off by default who failed: anyone
// can make it happen at any rate. Clients that speak no TLS at all are another
// matter, a wrong port in somebody's configuration.
func (b *Broker) logFailedHandshake(c net.Conn, err error) {
	var noTLS tls.RecordHeaderError
	if errors.As(err, &noTLS) {
		if more, ok := b.plainOnTLS.allow(time.Now()); ok {
			b.log.Warn("a client does not speak TLS on the TLS port", "addr", c.RemoteAddr().String(), "more", more)
		}
		return
	}
	b.log.Debug("TLS handshake failed", "addr", c.RemoteAddr().String(), "error", err)
}
