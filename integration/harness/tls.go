package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// DialTLS connects as DialWindow does and makes a TLS handshake; where cfg is
// nil it makes none.
func DialTLS(addr string, windowBytes int, cfg *tls.Config) (*Conn, error) {
	c, err := DialWindow(addr, windowBytes)
	if err != nil || cfg == nil {
		return c, err
	}
	secure := tls.Client(c.tcp, cfg)
	c.tcp.SetDeadline(time.Now().Add(Patience))
	if err := secure.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	c.tcp.SetDeadline(time.Time{})
	c.stream = secure
	return c, nil
}

// Certificate writes a certificate for 127.0.0.1 and its key to files that the
// test removes, and returns their paths with the configuration of a client
// that trusts nothing else.
func Certificate(tb testing.TB) (certFile, keyFile string, client *tls.Config) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			tb.Fatal(err)
		}
		return path
	}
	roots := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		tb.Fatal(err)
	}
	roots.AddCert(parsed)
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", der),
		&tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
}
