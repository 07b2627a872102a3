package broker

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
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

// TestTLS_ReloadLosesNothing changes certificates and who may come in while
// messages flow to a session over TLS: it gets them all.
func TestTLS_ReloadLosesNothing(t *testing.T) {
	drivers(t, func(t *testing.T, driver config.Driver) {
		h := newTLSHouse(t)
		b := start(t, func(c *config.Config) { h.configure(c); c.IO = driver })
		s, p := dialTLS(t, b, h.clientConfig(nil)), dialTLS(t, b, h.clientConfig(nil))
		s.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")

		const reloads, between = 6, 200
		var published sync.WaitGroup
		step := make(chan struct{})
		published.Go(func() {
			for i := range reloads * between {
				if i%between == between/2 {
					<-step // at least one message before and after each reload
				}
				p.do(fmt.Sprintf("PUBLISH news %d", i), ":1")
			}
		})
		for i := range reloads {
			name := fmt.Sprintf("certificate %d", i)
			h.renew(name)
			cfg := h.config()
			if i%2 == 1 {
				cfg.TLSAuthClients = config.TLSAuthYes
			}
			if err := b.reloadTLS(&cfg); err != nil {
				t.Error(err)
			}
			step <- struct{}{}
			c := dialTLS(t, b, h.clientConfig(h.client(nil)))
			if got := c.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName; got != name {
				t.Errorf("after reload %d the broker presents %q", i, got)
			}
			err := ask(t, b, h.clientConfig(nil))
			if refused := err != nil; refused != (i%2 == 1) {
				t.Errorf("after reload %d, without a certificate: %v", i, err)
			}
			c.Close()
		}
		published.Wait()
		for i := range reloads * between {
			text := strconv.Itoa(i)
			s.expect("*3", "$7", "message", "$4", "news", "$"+strconv.Itoa(len(text)), text)
		}
	})
}

// TestTLS_NoResumptionAcrossAReload has a client come back with the ticket of
// an earlier session after a reload, and after its authority is not trusted
// any more.
func TestTLS_NoResumptionAcrossAReload(t *testing.T) {
	h := newTLSHouse(t)
	b := start(t, func(c *config.Config) { h.configure(c); c.TLSAuthClients = config.TLSAuthYes })
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		cfg := h.clientConfig(h.client(nil))
		cfg.MaxVersion = version
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		resumed := func() (bool, error) {
			c := dial(t, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: b.tlsPort()})
			defer c.Close()
			secure := tls.Client(c.Conn, cfg)
			err := secure.Handshake()
			if err == nil {
				_, err = io.WriteString(secure, "PING\r\n")
			}
			if err == nil {
				_, err = secure.Read(make([]byte, 16))
			}
			return secure.ConnectionState().DidResume, err
		}
		if did, err := resumed(); did || err != nil {
			t.Fatalf("the first time: resumed %v, %v", did, err)
		}
		if did, err := resumed(); !did || err != nil {
			t.Errorf("%s: the second time: resumed %v, %v", tls.VersionName(version), did, err)
		}
		before := h.config()
		before.TLSAuthClients = config.TLSAuthYes
		if err := b.reloadTLS(&before); err != nil {
			t.Fatal(err)
		}
		if did, err := resumed(); did || err != nil {
			t.Errorf("%s: after a reload: resumed %v, %v", tls.VersionName(version), did, err)
		}
		changed := before
		changed.TLSCACertFile = filepath.Join(t.TempDir(), "other.pem")
		writeFile(t, changed.TLSCACertFile, certificatePEM(newAuthority(t, "other").cert))
		if err := b.reloadTLS(&changed); err != nil {
			t.Fatal(err)
		}
		if did, err := resumed(); did || err == nil {
			t.Errorf("%s: after the authority has changed: resumed %v, %v", tls.VersionName(version), did, err)
		}
		if err := b.reloadTLS(&before); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTLS_SessionCaching(t *testing.T) {
	h := newTLSHouse(t)
	b := start(t, func(c *config.Config) { h.configure(c); c.TLSSessionCaching = false })
	cfg := h.clientConfig(nil)
	cfg.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	for range 3 {
		c := dialTLS(t, b, cfg)
		c.do("PING", "+PONG")
		if c.Conn.(*tls.Conn).ConnectionState().DidResume {
			t.Error("a session was resumed without tls-session-caching")
		}
	}
}

// TestTLS_NoticesRenewedFiles replaces the files behind the broker's back.
func TestTLS_NoticesRenewedFiles(t *testing.T) {
	h := newTLSHouse(t)
	var log syncBuffer
	b := startLogged(t, &log, h.configure)
	presented := func() string {
		c := dialTLS(t, b, h.clientConfig(nil))
		defer c.Close()
		return c.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	first := b.tls.current.Load()
	h.renew("second")
	if got := presented(); got != "first" {
		t.Errorf("%q is presented before the files are looked at again", got)
	}
	due := func() { b.tls.nextCheck.Store(0) }
	due()
	if got := presented(); got != "second" {
		t.Errorf("%q is presented after the files were replaced", got)
	}
	if next := time.Unix(0, b.tls.nextCheck.Load()); time.Until(next) <= 0 || time.Until(next) > renewalPeriod {
		t.Errorf("the files are looked at again at %v", next)
	}

	// Nothing has changed: nothing is read.
	second := b.tls.current.Load()
	due()
	presented()
	if b.tls.current.Load() != second || second == first {
		t.Error("files that have not changed were read again")
	}

	// In the middle of a renewal the two do not fit together.
	key, err := os.ReadFile(h.key)
	if err != nil {
		t.Fatal(err)
	}
	h.renew("third")
	third, err := os.ReadFile(h.key)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, h.key, key)
	due()
	if got := presented(); got != "second" {
		t.Errorf("%q is presented with another certificate's key", got)
	}
	if !strings.Contains(log.String(), "does not belong to the certificate") {
		t.Errorf("the log says nothing of it:\n%s", log.String())
	}
	writeFile(t, h.key, third)
	due()
	if got := presented(); got != "third" {
		t.Errorf("%q is presented after the renewal was complete", got)
	}
}

// TestTLS_ReloadKeepsWhatWorks asks for changes that cannot be: each is
// refused for its reason, and nothing changes.
func TestTLS_ReloadKeepsWhatWorks(t *testing.T) {
	h := newTLSHouse(t)
	b := start(t, h.configure)
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		writeFile(t, path, data)
		return path
	}
	_, strange := h.server("strange")
	for name, tc := range map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"no certificate file": {func(c *config.Config) { c.TLSCertFile = "" }, "tls-cert-file"},
		"no key file":         {func(c *config.Config) { c.TLSKeyFile = "" }, "tls-key-file"},
		"missing certificate": {func(c *config.Config) { c.TLSCertFile = "/nonexistent" }, "no such file"},
		"missing key":         {func(c *config.Config) { c.TLSKeyFile = "/nonexistent" }, "no such file"},
		"empty certificate":   {func(c *config.Config) { c.TLSCertFile = file("e", nil) }, "holds no certificate"},
		"broken certificate": {func(c *config.Config) {
			c.TLSCertFile = file("b", pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: []byte("x")}))
		}, "x509: "},
		"another key":     {func(c *config.Config) { c.TLSKeyFile = file("k", keyPEM(t, strange)) }, "does not belong"},
		"encrypted key":   {func(c *config.Config) { c.TLSKeyFile = "testdata/keys/pkcs8-default.pem" }, "tls-key-file-pass"},
		"no authority":    {func(c *config.Config) { c.TLSAuthClients, c.TLSCACertFile = config.TLSAuthYes, "" }, "tls-ca-cert-file or tls-ca-cert-dir"},
		"empty authority": {func(c *config.Config) { c.TLSAuthClients, c.TLSCACertFile = config.TLSAuthYes, file("a", nil) }, "holds no certificate"},
		"missing folder":  {func(c *config.Config) { c.TLSAuthClients, c.TLSCACertDir = config.TLSAuthYes, "/nonexistent" }, "no such file"},
		"folder without": {func(c *config.Config) {
			c.TLSAuthClients, c.TLSCACertFile, c.TLSCACertDir = config.TLSAuthYes, "", t.TempDir()
		}, "holds no certificate"},
		"unknown auth":     {func(c *config.Config) { c.TLSAuthClients = "perhaps" }, "tls-auth-clients"},
		"a folder as file": {func(c *config.Config) { c.TLSCertFile = dir }, "no regular file"},
	} {
		cfg := h.config()
		tc.change(&cfg)
		before := b.tls.current.Load()
		if err := b.reloadTLS(&cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if b.tls.current.Load() != before {
			t.Errorf("%s: the configuration has changed all the same", name)
		}
		if broken, err := Start(cfg, slog.New(slog.DiscardHandler)); err == nil {
			_ = broken.Shutdown(t.Context())
			t.Errorf("%s: a broker has started", name)
		}
	}
	if err := ask(t, b, h.clientConfig(nil)); err != nil {
		t.Error(err)
	}
}

func TestTLS_EncryptedKeyAndFolderOfAuthorities(t *testing.T) {
	h := newTLSHouse(t)
	key, err := readKey("testdata/keys/plain.pem", "")
	if err != nil {
		t.Fatal(err)
	}
	leaf := template("encrypted")
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(nil, leaf, h.authority.cert, key.Public(), h.authority.key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, h.cert, pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: der}))
	writeFile(t, filepath.Join(dir, "0a1b2c3d.0"), certificatePEM(h.authority.cert))
	writeFile(t, filepath.Join(dir, "README"), []byte("no certificate"))
	if err := os.Mkdir(filepath.Join(dir, "private"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := start(t, func(c *config.Config) {
		h.configure(c)
		c.TLSKeyFile, c.TLSKeyFilePass = "testdata/keys/pkcs8-default.pem", keyPass
		c.TLSAuthClients, c.TLSCACertFile, c.TLSCACertDir = config.TLSAuthYes, "", dir
	})
	if err := ask(t, b, h.clientConfig(h.client(nil))); err != nil {
		t.Error(err)
	}
	other := newAuthority(t, "second")
	if err := ask(t, b, h.clientConfig(other.client(nil))); err == nil {
		t.Error("an authority that is not in the folder is trusted")
	}
	writeFile(t, filepath.Join(dir, "second.pem"), certificatePEM(other.cert))
	b.tls.nextCheck.Store(0)
	if err := ask(t, b, h.clientConfig(other.client(nil))); err != nil {
		t.Errorf("after its authority was put into the folder: %v", err)
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
