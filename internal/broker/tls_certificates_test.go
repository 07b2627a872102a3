package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"broker/internal/config"
)

// An authority issues certificates for one test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

var serial atomic.Int64

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	template := template(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	a.cert, a.key = a.sign(template)
	a.pool = x509.NewCertPool()
	a.pool.AddCert(a.cert)
	return a
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
}

// sign makes a key and a certificate for it, signed by itself while the
// authority has none.
func (a *authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// server issues a certificate for the loopback address.
func (a *authority) server(name string) (*x509.Certificate, *ecdsa.PrivateKey) {
	template := template(name)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return a.sign(template)
}

// client issues a certificate for a client, changed as the test likes.
func (a *authority) client(change func(*x509.Certificate)) *tls.Certificate {
	template := template("client")
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if change != nil {
		change(template)
	}
	cert, key := a.sign(template)
	return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func certificatePEM(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: c.Raw})...)
	}
	return out
}

func keyPEM(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der})
}

// A tlsHouse is an authority and a folder with what a broker reads.
type tlsHouse struct {
	*authority
	cert, key, ca string // paths
}

func newTLSHouse(t *testing.T) *tlsHouse {
	t.Helper()
	dir := t.TempDir()
	h := &tlsHouse{
		authority: newAuthority(t, "authority"),
		cert:      filepath.Join(dir, "cert.pem"),
		key:       filepath.Join(dir, "key.pem"),
		ca:        filepath.Join(dir, "ca.pem"),
	}
	writeFile(t, h.ca, certificatePEM(h.authority.cert))
	h.renew("first")
	return h
}

// renew replaces the broker's certificate and key on disk.
func (h *tlsHouse) renew(name string) {
	h.t.Helper()
	cert, key := h.server(name)
	writeFile(h.t, h.cert, certificatePEM(cert))
	writeFile(h.t, h.key, keyPEM(h.t, key))
}

// configure sets the files and a port that the kernel chooses beside the plain
// one; clients need no certificate.
func (h *tlsHouse) configure(c *config.Config) {
	c.TLSPort = config.AnyPort
	c.TLSCertFile, c.TLSKeyFile, c.TLSCACertFile = h.cert, h.key, h.ca
	c.TLSAuthClients = config.TLSAuthNo
}

// config is that of a broker with both ports.
func (h *tlsHouse) config() config.Config {
	c := config.Default()
	c.Bind, c.Port, c.Shards = []string{"127.0.0.1"}, config.AnyPort, 2
	h.configure(&c)
	return c
}

// clientConfig trusts the authority and presents cert, if not nil.
func (h *tlsHouse) clientConfig(cert *tls.Certificate) *tls.Config {
	c := &tls.Config{RootCAs: h.pool, ServerName: "127.0.0.1"}
	if cert != nil {
		// Not Certificates: the client would present none of an authority that
		// the broker does not name.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return c
}
