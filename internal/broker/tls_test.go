package broker

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"broker/internal/config"
)

// dialTLS connects to the broker's TLS port.
func dialTLS(t *testing.T, b *Broker, cfg *tls.Config) *client {
	t.Helper()
	c := dial(t, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: b.tlsPort()})
	secure := tls.Client(c.Conn, cfg)
	if err := secure.Handshake(); err != nil {
		t.Fatal(err)
	}
	c.Conn, c.r = secure, bufio.NewReader(secure)
	return c
}

func TestTLS_SessionsOfBothPortsShareTheChannels(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		h := newTLSHouse(t)
		b := start(t, func(c *config.Config) { h.configure(c); c.IO = io })
		if b.tlsPort() == 0 || b.tcpPort() == 0 || b.tlsPort() == b.tcpPort() {
			t.Fatalf("ports %d and %d", b.tcpPort(), b.tlsPort())
		}
		var plain, secure []*client
		for range 4 { // some on each shard
			plain = append(plain, dial(t, b.Addrs()[0]))
			secure = append(secure, dialTLS(t, b, h.clientConfig(nil)))
		}
		all := append(append([]*client(nil), plain...), secure...)
		for _, c := range all {
			c.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")
		}
		for i, p := range []*client{dial(t, b.Addrs()[0]), dialTLS(t, b, h.clientConfig(nil))} {
			for j := range 50 {
				p.do(fmt.Sprintf("PUBLISH news m%d.%02d", i, j), ":8")
			}
		}
		for _, c := range all {
			for i := range 2 {
				for j := range 50 {
					c.expect("*3", "$7", "message", "$4", "news", "$5", fmt.Sprintf("m%d.%02d", i, j))
				}
			}
		}
	})
}

func TestTLS_ClientListKnowsTheSocket(t *testing.T) {
	drivers(t, func(t *testing.T, driver config.Driver) {
		h := newTLSHouse(t)
		b := start(t, func(c *config.Config) { h.configure(c); c.IO, c.Port = driver, 0 })
		c := dialTLS(t, b, h.clientConfig(nil))
		if _, err := io.WriteString(c, "CLIENT LIST\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		line, err := c.r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]string{}
		for _, f := range strings.Fields(line) {
			name, value, _ := strings.Cut(f, "=")
			fields[name] = value
		}
		if fields["addr"] != c.LocalAddr().String() || fields["laddr"] != c.RemoteAddr().String() {
			t.Errorf("addr=%s laddr=%s, want %v and %v", fields["addr"], fields["laddr"], c.LocalAddr(), c.RemoteAddr())
		}
		fd, err := strconv.Atoi(fields["fd"])
		if err != nil {
			t.Fatal(err)
		}
		peer, err := syscall.Getpeername(fd)
		if err != nil {
			t.Fatalf("fd=%d is no connection: %v", fd, err)
		}
		if in, ok := peer.(*syscall.SockaddrInet4); !ok || in.Port != c.LocalAddr().(*net.TCPAddr).Port {
			t.Errorf("fd=%d is another connection: %v", fd, peer)
		}
	})
}

// TestTLS_WhoIsLetIn presents every kind of certificate to every kind of
// server. With TLS 1.3 the client's handshake is over before the server has
// seen the certificate, so the client asks something before it counts as in.
func TestTLS_WhoIsLetIn(t *testing.T) {
	h := newTLSHouse(t)
	other := newAuthority(t, "authority") // of the same name
	day := 24 * time.Hour
	middle := template("between")
	middle.IsCA, middle.BasicConstraintsValid, middle.KeyUsage = true, true, x509.KeyUsageCertSign
	between := &authority{t: t}
	between.cert, between.key = h.sign(middle)
	chained := between.client(nil)
	unchained := *chained
	chained.Certificate = append(chained.Certificate, between.cert.Raw)

	certificates := map[string]struct {
		cert  *tls.Certificate
		valid bool
		alert string
	}{
		"good":       {h.client(nil), true, ""},
		"chained":    {chained, true, ""},
		"unchained":  {&unchained, false, "unknown certificate authority"},
		"wrong CA":   {other.client(nil), false, "unknown certificate authority"},
		"expired":    {h.client(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = c.NotBefore.Add(-2*day), c.NotAfter.Add(-day) }), false, "expired certificate"},
		"not yet":    {h.client(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = c.NotBefore.Add(day), c.NotAfter.Add(2*day) }), false, "expired certificate"},
		"for server": {h.client(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), false, "bad certificate"},
		"none":       {nil, false, "certificate required"},
	}
	for _, auth := range []config.TLSAuth{config.TLSAuthYes, config.TLSAuthOptional, config.TLSAuthNo} {
		b := start(t, func(c *config.Config) { h.configure(c); c.TLSAuthClients = auth })
		failed := int64(0)
		for name, tc := range certificates {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				what := fmt.Sprintf("tls-auth-clients %s, certificate %s, %s", auth, name, tls.VersionName(version))
				cfg := h.clientConfig(tc.cert)
				cfg.MinVersion, cfg.MaxVersion = version, version
				err := ask(t, b, cfg)
				in := tc.valid || auth == config.TLSAuthNo || auth == config.TLSAuthOptional && name == "none"
				if in != (err == nil) {
					t.Errorf("%s: %v, let in: want %v", what, err, in)
				}
				if !in {
					failed++
					alert := tc.alert
					if name == "none" && version == tls.VersionTLS12 {
						alert = "handshake failure" // the other alert came with 1.3
					}
					if err != nil && !strings.Contains(err.Error(), alert) {
						t.Errorf("%s: %v, want the alert %q", what, err, alert)
					}
				}
			}
		}
		b.handshakes.goroutines.Wait()
		if n := b.handshakes.failed.Load(); n != failed {
			t.Errorf("tls-auth-clients %s: %d failures are counted, want %d", auth, n, failed)
		}
	}
}

// TestTLS_RefusalIsNoReset refuses a client that has sent commands behind its
// handshake, as TLS 1.3 lets it: it is to see the alert and the end, not a
// reset, which on some systems would come before the alert.
func TestTLS_RefusalIsNoReset(t *testing.T) {
	h := newTLSHouse(t)
	b := start(t, func(c *config.Config) { h.configure(c); c.TLSAuthClients = config.TLSAuthYes })
	c := dial(t, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: b.tlsPort()})
	held := &holdingConn{Conn: c.Conn}
	secure := tls.Client(held, h.clientConfig(nil))
	if err := secure.Handshake(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(secure, strings.Repeat("PING\r\n", 5000)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Conn.Write(held.held); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c.Conn); err != nil || len(got) == 0 {
		t.Errorf("the connection ended with %v after %d bytes", err, len(got))
	}
}

// holdingConn sends the first write and keeps the others.
type holdingConn struct {
	net.Conn
	sent bool
	held []byte
}

func (c *holdingConn) Write(b []byte) (int, error) {
	if c.sent {
		c.held = append(c.held, b...)
		return len(b), nil
	}
	c.sent = true
	return c.Conn.Write(b)
}

// ask connects, sends PING and returns what went wrong.
func ask(t *testing.T, b *Broker, cfg *tls.Config) error {
	t.Helper()
	c := dial(t, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: b.tlsPort()})
	defer c.Close()
	secure := tls.Client(c.Conn, cfg)
	if err := secure.Handshake(); err != nil {
		return err
	}
	if _, err := io.WriteString(secure, "PING\r\n"); err != nil {
		return err
	}
	got := make([]byte, len("+PONG\r\n"))
	if _, err := io.ReadFull(secure, got); err != nil {
		return err
	}
	if string(got) != "+PONG\r\n" {
		return fmt.Errorf("got %q", got)
	}
	return nil
}

func TestTLS_Versions(t *testing.T) {
	h := newTLSHouse(t)
	for protocols, spoken := range map[string][]uint16{
		"":                {tls.VersionTLS12, tls.VersionTLS13},
		"TLSv1.2 TLSv1.3": {tls.VersionTLS12, tls.VersionTLS13},
		"TLSv1.2":         {tls.VersionTLS12},
		"TLSv1.3":         {tls.VersionTLS13},
	} {
		b := start(t, func(c *config.Config) { h.configure(c); c.TLSProtocols = protocols })
		for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
			cfg := h.clientConfig(nil)
			cfg.MinVersion, cfg.MaxVersion = version, version
			err := ask(t, b, cfg)
			want := false
			for _, v := range spoken {
				want = want || v == version
			}
			switch {
			case want && err != nil:
				t.Errorf("tls-protocols %q: %s: %v", protocols, tls.VersionName(version), err)
			case !want && (err == nil || !strings.Contains(err.Error(), "protocol version not supported")):
				t.Errorf("tls-protocols %q: %s: %v, want an alert", protocols, tls.VersionName(version), err)
			}
		}
	}
}

// TestTLS_WrongPort has clients take one port for the other: they are closed
// at once, and the log says so.
func TestTLS_WrongPort(t *testing.T) {
	drivers(t, func(t *testing.T, driver config.Driver) {
		h := newTLSHouse(t)
		var log syncBuffer
		b := startLogged(t, &log, func(c *config.Config) { h.configure(c); c.IO = driver })
		for range 5 {
			c := dial(t, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: b.tlsPort()})
			if _, err := io.WriteString(c, "PING\r\n"); err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(c.r); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("plain text on the TLS port: %q, %v", got, err)
			}
			plain := dial(t, b.Addrs()[0])
			if err := tls.Client(plain, h.clientConfig(nil)).Handshake(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("TLS on the plain port: %v", err)
			}
		}
		b.handshakes.goroutines.Wait()
		if n := b.handshakes.failed.Load(); n != 5 {
			t.Errorf("%d failures are counted, want 5", n)
		}
		for _, line := range []string{"does not speak TLS on the TLS port", "speaks TLS on a port without it"} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("the log does not say %q", line)
			}
		}
	})
}

// TestTLS_ShutdownDrains stops a broker that owes a session over TLS more than
// its socket takes.
func TestTLS_ShutdownDrains(t *testing.T) {
	drivers(t, func(t *testing.T, driver config.Driver) {
		h := newTLSHouse(t)
		cfg := h.config()
		cfg.IO = driver
		b, err := Start(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		stopped := make(chan error, 1)
		s, p := dialTLS(t, b, h.clientConfig(nil)), dialTLS(t, b, h.clientConfig(nil))
		s.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")
		payload := strings.Repeat("x", 60_000)
		const n = 250 // 15 MB: more than the buffers of a connection
		for range n {
			p.do("PUBLISH news "+payload, ":1")
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			stopped <- b.Shutdown(ctx)
		}()
		p.expect("") // closed: the shutdown has begun, and s has read nothing yet
		p.Close()
		for range n {
			s.expect("*3", "$7", "message", "$4", "news", "$60000", payload)
		}
		if _, err := s.r.ReadByte(); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
		s.Close()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// TestTLS_SlowSubscriberIsCutOff has a session over TLS stop reading: it meets
// its output limit, and nobody else notices.
func TestTLS_SlowSubscriberIsCutOff(t *testing.T) {
	drivers(t, func(t *testing.T, driver config.Driver) {
		h := newTLSHouse(t)
		b := start(t, func(c *config.Config) {
			h.configure(c)
			c.IO = driver
			c.OutputLimits.PubSub = config.OutputLimit{HardBytes: 1 << 20}
		})
		slow, ok, p := dialTLS(t, b, h.clientConfig(nil)), dialTLS(t, b, h.clientConfig(nil)), dial(t, b.Addrs()[0])
		for _, c := range []*client{slow, ok} {
			c.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")
		}
		payload := strings.Repeat("x", 60_000)
		receivers := 2
		for i := 0; receivers == 2; i++ {
			if i == 2000 {
				t.Fatal("120 MB are queued for a session with a limit of 1 MiB")
			}
			if _, err := fmt.Fprintf(p, "PUBLISH news %s\r\n", payload); err != nil {
				t.Fatal(err)
			}
			line, err := p.r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			receivers, _ = strconv.Atoi(strings.Trim(line, ":\r\n"))
			ok.expect("*3", "$7", "message", "$4", "news", "$60000", payload)
		}
		if receivers != 1 {
			t.Errorf("%d receivers", receivers)
		}
	})
}

// startLogged is start with a log.
func startLogged(t *testing.T, log io.Writer, change func(*config.Config)) *Broker {
	t.Helper()
	cfg := config.Default()
	cfg.Bind, cfg.Port, cfg.Shards = []string{"127.0.0.1"}, config.AnyPort, 2
	change(&cfg)
	b, err := Start(cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return b
}

// A syncBuffer collects a log.
type syncBuffer struct {
	mu  sync.Mutex
	buf strings.Builder // guarded by mu
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
