package broker

import (
	"crypto/tls"
	"fmt"
	"strconv"
	"testing"

	"broker/internal/config"
)

// servedName returns the name in the certificate that the broker presents.
func servedName(t *testing.T, b *Broker, h *tlsHouse) string {
	t.Helper()
	c := dialTLS(t, b, h.clientConfig(nil))
	c.do("PING", "+PONG")
	return c.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
}

const tlsRefused = "Unable to update TLS configuration. Check server logs."

func TestConfigSet_TLSPortOpensMovesAndCloses(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		h := newTLSHouse(t)
		b := start(t, func(c *config.Config) { c.IO = io })
		c := dial(t, b.Addrs()[0])
		port := freePort(t)
		c.set(fmt.Sprintf("tls-port %d|tls-cert-file %s", port, h.cert), failed("tls-port", tlsRefused))
		c.set(fmt.Sprintf("tls-port %d|tls-cert-file %s|tls-key-file %s|tls-auth-clients no", port, h.cert, h.key), "+OK")
		if b.tlsPort() != port {
			t.Fatalf("TLS on port %d, want %d", b.tlsPort(), port)
		}
		secure := dialTLS(t, b, h.clientConfig(nil))
		secure.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")

		// The two ports change places.
		plain := b.tcpPort()
		c.set(fmt.Sprintf("port %d|tls-port %d", port, plain), "+OK")
		if b.tcpPort() != port || b.tlsPort() != plain {
			t.Fatalf("ports %d and %d, want %d and %d", b.tcpPort(), b.tlsPort(), port, plain)
		}
		if got := servedName(t, b, h); got != "first" {
			t.Errorf("the certificate is of %q", got)
		}
		dial(t, b.Addrs()[0]).do("PUBLISH news x", ":1")
		secure.expect("*3", "$7", "message", "$4", "news", "$1", "x")

		c.set("tls-port 0", "+OK")
		if !refuses(t, "127.0.0.1:"+strconv.Itoa(plain)) {
			t.Error("the TLS port still accepts connections")
		}
		secure.do("PING", "*2", "$4", "pong", "$0", "")
	})
}

func TestConfigSet_CertificatesAreReplacedOrStay(t *testing.T) {
	h := newTLSHouse(t)
	b := start(t, h.configure)
	c := dial(t, b.Addrs()[0])
	h.renew("second")
	c.set("tls-cert-file "+h.cert+"|bind 192.0.2.1", failed("bind", "Failed to bind to specified addresses."))
	if got := servedName(t, b, h); got != "first" {
		t.Errorf("after a change that failed the certificate is of %q", got)
	}
	c.set("tls-key-file "+h.cert, failed("tls-key-file", tlsRefused))
	c.set("tls-cert-file /nowhere|timeout 1", failed("tls-cert-file", tlsRefused))
	c.set("tls-auth-clients yes|tls-ca-cert-file ", failed("tls-auth-clients", tlsRefused))
	if got := servedName(t, b, h); got != "first" {
		t.Errorf("after files that cannot be read the certificate is of %q", got)
	}
	c.set("tls-cert-file "+h.cert, "+OK")
	if got := servedName(t, b, h); got != "second" {
		t.Errorf("after the change the certificate is of %q", got)
	}
}
