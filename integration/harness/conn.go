package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// Patience is how long a read or a write waits for a server before the test
// fails. It is far above what any correct answer takes, so that only a missing
// answer can exceed it, on a loaded machine and under the race detector too.
const Patience = 20 * time.Second

// readChunkBytes is how much one read of a Conn takes at most.
const readChunkBytes = 256 << 10

// A Conn is a raw connection to a server: bytes out, bytes in.
type Conn struct {
	tcp *net.TCPConn
	// stream is what the bytes go through: tcp, or TLS over it.
	stream interface {
		net.Conn
		CloseWrite() error
	}
	in  []byte // received
	off int    // in[:off] is taken already
	end error  // why nothing more comes: io.EOF, a reset; nil while open
}

// Dial connects to addr ("host:port").
func Dial(addr string) (*Conn, error) { return DialWindow(addr, 0) }

// DialWindow connects with a receive buffer of windowBytes in the kernel, so
// that a server soon feels a client that does not read. 0 means the kernel's
// own size.
func DialWindow(addr string, windowBytes int) (*Conn, error) {
	d := net.Dialer{Timeout: Patience}
	if windowBytes > 0 {
		// Before connect: the window is announced in the handshake.
		d.Control = func(_, _ string, raw syscall.RawConn) error {
			var set error
			err := raw.Control(func(fd uintptr) {
				set = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, windowBytes)
			})
			return errors.Join(err, set)
		}
	}
	nc, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	tcp := nc.(*net.TCPConn)
	return &Conn{tcp: tcp, stream: tcp}, nil
}

// LocalAddr returns our end of the connection, as CLIENT LIST prints it in
// addr=.
func (c *Conn) LocalAddr() string { return c.tcp.LocalAddr().String() }

// Close closes our end. Whatever was not read is lost.
func (c *Conn) Close() { c.tcp.Close() }

// Abort closes our end with a reset instead of an end of stream.
func (c *Conn) Abort() {
	c.tcp.SetLinger(0)
	c.tcp.Close()
}

// CloseWrite ends our sending direction; the server sees an end of stream and
// can still answer.
func (c *Conn) CloseWrite() error { return c.stream.CloseWrite() }

// Send writes b whole, waiting up to Patience for the server to take it.
func (c *Conn) Send(b []byte) error { return c.SendBy(b, time.Now().Add(Patience)) }

// SendBy is Send with the caller's own deadline.
func (c *Conn) SendBy(b []byte, deadline time.Time) error {
	c.stream.SetWriteDeadline(deadline)
	_, err := c.stream.Write(b)
	if err != nil {
		return fmt.Errorf("send %d bytes: %w", len(b), err)
	}
	return nil
}

// Command sends one command in its multibulk form.
func (c *Conn) Command(args ...string) error {
	return c.Send(AppendCommand(nil, args...))
}

// AppendCommand appends the multibulk form of a command.
func AppendCommand(b []byte, args ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n", len(a))
		b = append(b, a...)
		b = append(b, "\r\n"...)
	}
	return b
}

// Pump reads once, waiting until deadline, and reports whether anything
// happened: bytes came or the stream ended.
func (c *Conn) Pump(deadline time.Time) bool {
	if c.end != nil {
		return false
	}
	if c.off == len(c.in) {
		c.in, c.off = c.in[:0], 0
	}
	if cap(c.in)-len(c.in) < readChunkBytes/4 {
		// What is not taken moves to the front of an array twice its size, so
		// that each byte is copied a constant number of times.
		rest := c.in[c.off:]
		c.in = append(make([]byte, 0, 2*len(rest)+readChunkBytes), rest...)
		c.off = 0
	}
	c.stream.SetReadDeadline(deadline)
	n, err := c.stream.Read(c.in[len(c.in):cap(c.in)])
	c.in = c.in[:len(c.in)+n]
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.end = err
		return true
	}
	return n > 0
}

// Received returns what has come and was not taken. It belongs to the Conn and
// is valid until the next call of any method.
func (c *Conn) Received() []byte { return c.in[c.off:] }

// Ended returns why the stream ended: io.EOF when the server closed it in
// order, another error when it broke, nil while it is open as far as was read.
func (c *Conn) Ended() error { return c.end }

// Take removes the first n received bytes and returns a copy of them.
func (c *Conn) Take(n int) []byte {
	out := bytes.Clone(c.Received()[:n])
	c.Discard(n)
	return out
}

// Discard drops the first n received bytes.
func (c *Conn) Discard(n int) { c.off += n }

// Fill reads until n bytes are there, the stream ends or the deadline passes,
// and reports whether they are there.
func (c *Conn) Fill(n int, deadline time.Time) bool {
	for len(c.Received()) < n && c.Pump(deadline) {
	}
	return len(c.Received()) >= n
}

// Next takes the next RESP value, waiting up to Patience for it.
func (c *Conn) Next() (Value, error) {
	deadline := time.Now().Add(Patience)
	for {
		v, n, err := ParseValue(c.Received())
		if err == nil {
			c.Discard(n)
			return v, nil
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			return Value{}, fmt.Errorf("%w in %s", err, Show(c.Received()))
		}
		if !c.Pump(deadline) {
			if c.end != nil {
				return Value{}, fmt.Errorf("stream ended (%w) after %s", c.end, Show(c.Received()))
			}
			return Value{}, fmt.Errorf("no whole reply within %v, only %s", Patience, Show(c.Received()))
		}
	}
}

// Do sends one command and takes the next value.
func (c *Conn) Do(args ...string) (Value, error) {
	if err := c.Command(args...); err != nil {
		return Value{}, err
	}
	return c.Next()
}

// markers numbers the barriers of the process: a marker must be unlike
// anything that a server sends by itself.
var markers atomic.Uint64

// barrierRounds is how many PINGs make a barrier. A server that delivers
// messages after it has run the commands of one turn answers the first PING
// before the messages that were waiting for the connection, and the second
// one, sent when the first was answered, after them.
const barrierRounds = 2

// Barrier sends PING with a marker and reads until it is answered, twice. What
// came besides the answers is appended to got: everything that the server owed
// the connection when Barrier was called. It needs a connection between two
// commands. When the server closes the connection instead, Barrier returns
// what came and the reason.
func (c *Conn) Barrier(got []byte) ([]byte, error) {
	for range barrierRounds {
		marker := "barrier-" + strconv.FormatUint(markers.Add(1), 10) + "-reached"
		// A failed send is no answer either: what the server said before it
		// closed is still to be read.
		sent := c.Command("PING", marker)
		deadline := time.Now().Add(Patience)
		for {
			if at, n := findMarker(c.Received(), marker); at >= 0 {
				got = append(got, c.Received()[:at]...)
				c.Discard(at + n)
				break
			}
			if !c.Pump(deadline) {
				got = append(got, c.Take(len(c.Received()))...)
				if c.end != nil {
					return got, c.end
				}
				return got, errors.Join(sent, fmt.Errorf("barrier: PING not answered within %v, only %s", Patience, Show(got)))
			}
		}
	}
	got = append(got, c.Take(len(c.Received()))...)
	return got, nil
}

// findMarker finds the answer to PING marker, in the form of a subscriber that
// speaks RESP2 or in the form of everybody else, and returns where it starts
// and how long it is; -1 when it has not come.
func findMarker(b []byte, marker string) (at, n int) {
	bulk := fmt.Sprintf("$%d\r\n%s\r\n", len(marker), marker)
	const pong = "*2\r\n$4\r\npong\r\n"
	at = bytes.Index(b, []byte(bulk))
	if at < 0 {
		return -1, 0
	}
	if bytes.HasSuffix(b[:at], []byte(pong)) {
		return at - len(pong), len(pong) + len(bulk)
	}
	return at, len(bulk)
}

// UntilClosed reads until the server closes the connection and returns what
// came before; it fails when the server has not closed it within Patience.
func (c *Conn) UntilClosed() ([]byte, error) {
	deadline := time.Now().Add(Patience)
	for c.Pump(deadline) {
	}
	got := c.Take(len(c.Received()))
	if c.end == nil {
		return got, fmt.Errorf("still open after %v, got %s", Patience, Show(got))
	}
	return got, nil
}

// Show prints bytes for a message: quoted, the middle of a long run left out.
func Show(b []byte) string {
	const limit = 600
	if len(b) <= limit {
		return strconv.Quote(string(b))
	}
	return fmt.Sprintf("%q…(%d bytes)…%q", b[:limit/2], len(b), b[len(b)-limit/2:])
}
