package shard

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestOverTLS runs the tests that choose their own bubble over TLS.
func TestOverTLS(t *testing.T) {
	for _, tc := range []struct {
		name string
		test func(*testing.T)
	}{
		{"exact-count", TestInvariant_ExactCount},
		{"bounded", TestInvariant_Bounded},
		{"one-loop", TestInvariant_OneLoop},
		{"soft limit", TestLoop_SoftLimit},
		{"earlier messages first", TestLoop_EarlierMessagesPrecedeLaterReplies},
		{"shutdown's deadline", TestGroup_ShutdownGivesUpAtItsDeadline},
	} {
		t.Run(tc.name+overTLS, tc.test)
	}
}

// recorder keeps what is read from a connection.
type recorder struct {
	net.Conn
	mu  sync.Mutex
	got []byte // guarded by mu
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.mu.Lock()
	r.got = append(r.got, b[:n]...)
	r.mu.Unlock()
	return n, err
}

// lastRecord returns the type of the last TLS record that was read.
func (r *recorder) lastRecord() byte {
	const headerBytes = 5
	r.mu.Lock()
	defer r.mu.Unlock()
	last := byte(0)
	for rest := r.got; len(rest) > 0; {
		last = rest[0]
		rest = rest[headerBytes+int(binary.BigEndian.Uint16(rest[3:])):]
	}
	return last
}

// dialForEnd connects a client with TLS 1.2, where the records' types can be
// seen from outside.
func (b *testBroker) dialForEnd() (*testClient, *recorder) {
	ours, theirs := net.Pipe()
	r := &recorder{Conn: ours}
	client, server := handshake(b.t, r, theirs, tls.VersionTLS12)
	c := &testClient{t: b.t, conn: client, done: make(chan struct{})}
	b.group.Adopt(Conn{Net: server})
	go c.readLoop()
	return c, r
}

const recordAlert = 0x15

// TestTLS_EndIsAnnounced has a session end in each way: its client hears of it
// by TLS's close notification, without which it would have to suspect that the
// stream was cut.
func TestTLS_EndIsAnnounced(t *testing.T) {
	for _, how := range []string{"QUIT", "PANIC", "shutdown", "half-close"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestBroker(t, 1)
				c, r := b.dialForEnd()
				c.send("PING")
				expect(t, c, "+PONG\r\n")
				switch how {
				case "shutdown":
					b.stop()
				case "half-close":
					if err := c.conn.(*tls.Conn).CloseWrite(); err != nil {
						t.Fatal(err)
					}
				default:
					c.send(how)
				}
				<-c.done
				if last := r.lastRecord(); last != recordAlert {
					t.Errorf("the client's stream ended with a record of type %d, not with a close notification", last)
				}
				c.close()
				if how != "shutdown" {
					b.stop()
				}
			})
		})
	}
}

// TestTLS_GivesUpWithoutWaiting dooms a session whose client reads nothing:
// the loop goes on, and nobody waits for long to say goodbye.
func TestTLS_GivesUpWithoutWaiting(t *testing.T) {
	t.Run("shards=1"+overTLS, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newTestBroker(t, 1, func(c *Config) { c.Settings.PubSubLimit.HardBytes = 100_000 })
			// One has a writer that is stuck; the others have none, and no room
			// for a goodbye either.
			writing, silent, p := b.dialPaused(), b.dialPaused(), b.dial()
			leaving, theirs := connect(t)
			b.group.Adopt(Conn{Net: theirs})
			writing.send("SUB news")
			synctest.Wait()
			begin := time.Now()
			if err := leaving.(*tls.Conn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			silent.send("PANIC")
			for range 200 {
				p.send("PUB news " + strings.Repeat("x", 1000))
			}
			synctest.Wait()
			if !strings.HasSuffix(p.take(), number(0)) {
				t.Error("the slow subscriber is still counted")
			}
			if d := time.Since(begin); d != 0 {
				t.Errorf("the loop waited for %v", d)
			}
			if n := b.group.Sessions(); n != 1 {
				t.Errorf("%d sessions are left, want the publisher's", n)
			}
			p.close()
			b.stop() // waits for every writer
			if d := time.Since(begin); d > goodbyePeriod {
				t.Errorf("the goodbyes took %v", d)
			}
			leaving.Close()
			writing.close()
			silent.close()
		})
	})
}

// TestTLS_HalfClosed has a client end its sending side behind its commands: it
// is answered. (A connection in memory without TLS has one end only.)
func TestTLS_HalfClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBroker(t, 2)
		c, _ := b.dialForEnd()
		c.send("SUB news", "PING")
		if err := c.conn.(*tls.Conn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		<-c.done
		if got, want := c.take(), ack("subscribe", "news", 1)+"+PONG\r\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		c.close()
		b.stop()
	})
}

// faultyConn panics when it has read so many times.
type faultyConn struct {
	net.Conn
	reads, writes int
}

func (c *faultyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.reads--; c.reads < 0 {
		panic("asked for")
	}
	return n, err
}

func (c *faultyConn) Write(b []byte) (int, error) {
	if c.writes--; c.writes < 0 {
		panic("asked for")
	}
	return c.Conn.Write(b)
}

func TestConns_PanicEndsOneSession(t *testing.T) {
	for name, faulty := range map[string]*faultyConn{
		"reader": {reads: 1, writes: 100},
		"writer": {reads: 100, writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestBroker(t, 1)
				ok := b.dial()
				ours, theirs := net.Pipe()
				faulty.Conn = theirs
				c := &testClient{t: t, conn: ours, done: make(chan struct{})}
				b.group.Adopt(Conn{Net: faulty})
				go c.readLoop()
				c.send("PING")
				expect(t, c, "+PONG\r\n")
				c.send("PING")
				<-c.done
				ok.send("PING")
				expect(t, ok, "+PONG\r\n")
				b.group.Each(func(l *Loop) {
					if st := l.Stats(); st.Panics != 1 || st.Sessions != 1 {
						t.Errorf("%d panics are counted, %d sessions are left", st.Panics, st.Sessions)
					}
				})
				c.close()
				ok.close()
				b.stop()
			})
		})
	}
}

// TestConns_IdleReaderHoldsASmallBuffer sends much and then nothing.
func TestConns_IdleReaderHoldsASmallBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBroker(t, 1)
		ours, theirs := net.Pipe()
		sizes := &sizeConn{Conn: theirs}
		c := &testClient{t: t, conn: ours, done: make(chan struct{})}
		b.group.Adopt(Conn{Net: sizes})
		go c.readLoop()
		for range 3 {
			c.send("PING " + strings.Repeat("x", 3*netChunkBytes))
			expect(t, c, "+PONG\r\n")
			if n := sizes.largest.Swap(0); n != netChunkBytes {
				t.Errorf("a busy reader reads %d bytes at a time", n)
			}
			for range 2 {
				c.send("PING")
				expect(t, c, "+PONG\r\n")
			}
			if n := sizes.last.Load(); n != netIdleBytes {
				t.Errorf("an idle reader waits with a buffer of %d bytes", n)
			}
		}
		b.group.Each(func(l *Loop) {
			if in := l.sessions[0].nc.in; in != nil {
				t.Errorf("an idle session keeps a buffer of %d bytes", cap(in))
			}
		})
		c.close()
		b.stop()
	})
}

// sizeConn notes the sizes of the buffers that are read into.
type sizeConn struct {
	net.Conn
	last, largest atomic.Int64
}

func (c *sizeConn) Read(b []byte) (int, error) {
	n := int64(len(b))
	c.last.Store(n)
	c.largest.Store(max(c.largest.Load(), n))
	return c.Conn.Read(b)
}

// TestLoop_ClientHelloEndsTheSession sends the beginning of a TLS handshake to
// sessions without TLS.
func TestLoop_ClientHelloEndsTheSession(t *testing.T) {
	hello := clientHello(t)
	for name, chunk := range map[string]int{"whole": len(hello), "a byte at a time": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines lineCounter
				b := newTestBroker(t, 2, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&lines, nil)) })
				try := func() {
					c := b.dial()
					for rest := hello; len(rest) > 0; rest = rest[chunk:] {
						if _, err := c.conn.Write(rest[:chunk]); err != nil {
							break
						}
					}
					<-c.done
					if got := c.take(); got != "" {
						t.Errorf("the client was sent %q", got)
					}
					c.close()
				}
				for range 5 {
					try()
				}
				if n := lines.Load(); n != 1 {
					t.Errorf("%d lines were logged for 5 clients in one instant", n)
				}
				time.Sleep(helloLogPeriod)
				try()
				if n := lines.Load(); n != 2 {
					t.Errorf("%d lines were logged, want one more a second later", n)
				}
				c := b.dial()
				c.send("PING")
				expect(t, c, "+PONG\r\n")
				c.close()
				b.stop()
			})
		})
	}
}

type lineCounter struct{ atomic.Int64 }

func (c *lineCounter) Write(b []byte) (int, error) {
	c.Add(int64(strings.Count(string(b), "\n")))
	return len(b), nil
}

// clientHello returns what a TLS client says first.
func clientHello(t *testing.T) []byte {
	ours, theirs := net.Pipe()
	c := tls.Client(ours, &tls.Config{InsecureSkipVerify: true})
	ended := make(chan error)
	go func() { ended <- c.Handshake() }()
	buf := make([]byte, 16<<10)
	n, err := theirs.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Fatalf("the handshake ended with %v", err)
	}
	return buf[:n]
}
