package broker

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"broker/internal/acl"
	"broker/resp"
	"broker/shard"
)

// inMemory is a broker without ports, for connections in memory: it runs in a
// synctest bubble.
func inMemory(t *testing.T, places int) *Broker {
	t.Helper()
	h := newTLSHouse(t)
	cfg := h.config()
	cfg.TLSSessionCaching = false // a ticket would wait for its client to read
	log := slog.New(slog.DiscardHandler)
	group, err := shard.NewGroup(shard.Config{
		Shards: 1,
		Driver: "net",
		Handle: func(s *shard.Session, _ [][]byte) { s.Reply().Simple("PONG") },
		Settings: shard.Settings{
			QueryBufferBytes: 1 << 20,
			BulkBytes:        1 << 20,
		},
		Limits: resp.DefaultLimits(),
		Log:    log,
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &Broker{
		log:        log,
		group:      group,
		users:      acl.NewStore(acl.Config{}),
		stopping:   make(chan struct{}),
		handshakes: newHandshakes(places, handshakePeriod, crowdedPeriod),
		tls:        tlsState{log: log},
	}
	b.current.Install(&state{cfg: cfg})
	if err := b.reloadTLS(&cfg); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *Broker) endInMemory(t *testing.T) {
	close(b.stopping)
	b.handshakes.stop()
	if err := b.group.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// accept brings a connection in as the acceptor does, from a client on this
// machine, and returns the client's end.
func (b *Broker) acceptInMemory(from string) net.Conn {
	ours, theirs := net.Pipe()
	b.startTLS(theirs, shard.Conn{Remote: netip.MustParseAddrPort(from)})
	return ours
}

const here, elsewhere = "127.0.0.1:5", "10.0.0.7:5"

// pings speaks TLS and is answered.
func pings(t *testing.T, c net.Conn) {
	t.Helper()
	secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	if err := secure.Handshake(); err != nil {
		t.Errorf("handshake: %v", err)
		return
	}
	if _, err := io.WriteString(secure, "PING\r\n"); err != nil {
		t.Error(err)
	}
	got := make([]byte, len("+PONG\r\n"))
	if _, err := io.ReadFull(secure, got); err != nil || string(got) != "+PONG\r\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// closedWithin waits for the connection's end.
func closedWithin(t *testing.T, c net.Conn, least, most time.Duration) {
	t.Helper()
	begin := time.Now()
	_ = c.SetReadDeadline(begin.Add(most + time.Millisecond))
	_, err := io.Copy(io.Discard, c)
	if d := time.Since(begin); errors.Is(err, os.ErrDeadlineExceeded) || d < least || d > most {
		t.Errorf("closed after %v (%v), want between %v and %v", d, err, least, most)
	}
}

func TestHandshake_SilentClientsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inMemory(t, 10)
		silent := b.acceptInMemory(here)
		trickling := b.acceptInMemory(here)
		go func() { // a long hello, one byte at a time
			record := append([]byte{0x16, 3, 1, 1, 0, 1, 0, 0, 252}, bytes.Repeat([]byte{3}, 252)...)
			for i := range record {
				if _, err := trickling.Write(record[i : i+1]); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}()
		// Meanwhile others are served.
		pings(t, b.acceptInMemory(here))
		closedWithin(t, silent, handshakePeriod, handshakePeriod)
		closedWithin(t, trickling, 0, 0)
		synctest.Wait()
		if n, failed := b.handshakes.count.Load(), b.handshakes.failed.Load(); n != 0 || failed != 2 {
			t.Errorf("%d handshakes are in progress, %d have failed", n, failed)
		}
		// A session has no deadline left over from its handshake.
		c := b.acceptInMemory(here)
		secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		if err := secure.Handshake(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * handshakePeriod)
		if _, err := io.WriteString(secure, "PING\r\n"); err != nil {
			t.Error(err)
		}
		if _, err := secure.Read(make([]byte, 16)); err != nil {
			t.Error(err)
		}
		secure.Close()
		b.endInMemory(t)
	})
}

// TestHandshake_LongOnesAreClosed begins a hello that would be too long, and
// lets a client go on that sends much behind its handshake.
func TestHandshake_LongOnesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inMemory(t, 10)
		c := b.acceptInMemory(here)
		begin := time.Now()
		message := append([]byte{1, 0, 0xff, 0xff, 3, 3}, make([]byte, 1<<16)...)
		sent := 0
		for len(message) > 0 {
			const record = 8 << 10
			n := min(record, len(message))
			if _, err := c.Write(append([]byte{0x16, 3, 1, record >> 8, 0}, message[:n]...)); err != nil {
				break
			}
			message = message[n:]
			sent += n
		}
		if sent < maxHandshakeBytes-16<<10 || sent > maxHandshakeBytes+16<<10 {
			t.Errorf("the client was closed after %d bytes", sent)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("the client was closed after %v", d)
		}

		secure := tls.Client(b.acceptInMemory(here), &tls.Config{InsecureSkipVerify: true})
		if err := secure.Handshake(); err != nil {
			t.Fatal(err)
		}
		const pings = 3 * maxHandshakeBytes / len("PING\r\n")
		go io.WriteString(secure, strings.Repeat("PING\r\n", pings))
		if _, err := io.ReadFull(secure, make([]byte, pings*len("+PONG\r\n"))); err != nil {
			t.Error(err)
		}
		secure.Close()
		b.endInMemory(t)
	})
}

// TestHandshake_PlacesAreBounded fills every place with clients that say
// nothing: those behind them wait until the first have had their second.
func TestHandshake_PlacesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 4
		b := inMemory(t, places)
		var silent []net.Conn
		for range places {
			silent = append(silent, b.acceptInMemory(here))
			time.Sleep(10 * time.Millisecond)
		}
		begin := time.Now()
		c := b.acceptInMemory(here) // waits, as the acceptor would
		if d, want := time.Since(begin), crowdedPeriod-places*10*time.Millisecond; d != want {
			t.Errorf("the next connection waited for %v, want %v", d, want)
		}
		if n := b.handshakes.count.Load(); n != places {
			t.Errorf("%d handshakes are in progress, want %d", n, places)
		}
		pings(t, c)
		closedWithin(t, silent[0], 0, 0)
		// The place of the one that was served is free, so that the others go on.
		second := b.acceptInMemory(here)
		closedWithin(t, silent[1], handshakePeriod-crowdedPeriod, handshakePeriod)
		second.Close()
		b.endInMemory(t)
	})
}

// TestHandshake_CountsAsAClient lets two clients in, with one session and one
// handshake.
func TestHandshake_CountsAsAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inMemory(t, 10)
		cfg := b.current.Load().cfg
		cfg.MaxClients = 2
		b.current.Install(&state{cfg: cfg})
		first := b.acceptInMemory(here)
		pings(t, first)
		silent := b.acceptInMemory(here)
		closedWithin(t, b.acceptInMemory(here), 0, 0)
		if n := b.rejected.Load(); n != 1 {
			t.Errorf("%d rejections are counted, want 1", n)
		}
		if why := b.refusal(shard.Conn{Remote: netip.MustParseAddrPort(here)}); why != maxClientsError {
			t.Errorf("a plain connection is told %q", why)
		}
		silent.Close()
		synctest.Wait()
		pings(t, b.acceptInMemory(here))
		b.endInMemory(t)
	})
}

// TestHandshake_ProtectedModeIsTold turns another machine away in words that
// it can read.
func TestHandshake_ProtectedModeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inMemory(t, 10)
		secure := tls.Client(b.acceptInMemory(elsewhere), &tls.Config{InsecureSkipVerify: true})
		got, err := io.ReadAll(secure)
		if err != nil || !strings.HasPrefix(string(got), "-DENIED Redis is running in protected mode") {
			t.Errorf("%q, %v", got, err)
		}
		if n := b.rejected.Load(); n != 1 || b.group.Sessions() != 0 {
			t.Errorf("%d rejections are counted, %d sessions", n, b.group.Sessions())
		}
		b.endInMemory(t)
	})
}

func TestHandshake_ShutdownWaitsForNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 3
		b := inMemory(t, places)
		begin := time.Now()
		var silent []net.Conn
		for range places {
			silent = append(silent, b.acceptInMemory(here))
		}
		waiting := make(chan net.Conn)
		go func() { waiting <- b.acceptInMemory(here) }() // for a place
		synctest.Wait()
		close(b.stopping)
		closedWithin(t, <-waiting, 0, 0)
		b.handshakes.stop()
		for _, c := range silent {
			closedWithin(t, c, 0, 0)
		}
		if err := b.group.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("the shutdown took %v", d)
		}
	})
}

// TestHandshake_PanicCostsOneConnection has a connection fail in a way that no
// connection should.
func TestHandshake_PanicCostsOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inMemory(t, 10)
		ours, theirs := net.Pipe()
		b.startTLS(panickingConn{theirs}, shard.Conn{Remote: netip.MustParseAddrPort(here)})
		closedWithin(t, ours, 0, alertPeriod)
		pings(t, b.acceptInMemory(here))
		if n := b.handshakes.failed.Load(); n != 1 {
			t.Errorf("%d failures are counted, want 1", n)
		}
		b.endInMemory(t)
	})
}

type panickingConn struct{ net.Conn }

func (panickingConn) Read([]byte) (int, error) { panic("asked for") }

func TestSparseLog_OneLineAPeriod(t *testing.T) {
	var l sparseLog
	now := time.Now()
	for i, tc := range []struct {
		after   time.Duration
		skipped int64
		ok      bool
	}{
		{0, 0, true}, {0, 0, false}, {sparseLogPeriod - 1, 0, false}, {sparseLogPeriod, 2, true},
		{sparseLogPeriod + 1, 0, false}, {5 * sparseLogPeriod, 1, true}, {7 * sparseLogPeriod, 0, true},
	} {
		if skipped, ok := l.allow(now.Add(tc.after)); skipped != tc.skipped || ok != tc.ok {
			t.Errorf("%d: %d, %v, want %d, %v", i, skipped, ok, tc.skipped, tc.ok)
		}
	}
}
