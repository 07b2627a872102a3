package broker

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"broker/internal/config"
)

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
