package clients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"broker/integration/harness"
)

// An access is a way in which clients are let in.
type access struct {
	name     string
	password string // none when empty
	user     string // of the access control list; "" is the default user
	tls      bool
}

// The ways in. No name or password needs quoting anywhere.
var (
	open         = access{name: "open"}
	withPassword = access{name: "requirepass", password: "open-sesame"}
	withUser     = access{name: "user", password: "open-sesame", user: "alice"}
	withTLS      = access{name: "tls", tls: true}
)

// An entrance is a server that lets clients in in one way.
type entrance struct {
	*harness.Target
	access
	port string // where the clients connect
	ca   string // the file of the certificate authority, when access.tls
}

// enter starts a server that lets clients in as a says.
func (a access) enter(t *testing.T, s server) entrance {
	t.Helper()
	e := entrance{access: a}
	var flags []string
	if a.tls {
		var cert, key string
		e.ca, cert, key = certificates(t)
		e.port = portBelowEphemeral(t)
		flags = append(flags, "--tls-port", e.port, "--tls-cert-file", cert, "--tls-key-file", key,
			"--tls-ca-cert-file", e.ca, "--tls-auth-clients", "no")
	}
	if a.password != "" && a.user == "" {
		flags = append(flags, "--requirepass", a.password)
	}
	e.Target = s.start(t, "", flags...)
	if e.port == "" {
		e.port = e.Port()
	}
	if a.user != "" {
		reply, err := e.Dial(t).Do("ACL", "SETUSER", a.user, "on", ">"+a.password, "&*", "+@all")
		if err != nil || reply.Text != "OK" {
			t.Fatalf("ACL SETUSER: %v, %v", reply, err)
		}
	}
	return e
}

// portBelowEphemeral returns a loopback port that was free a moment ago and
// that the system gives to nobody who asks for any.
func portBelowEphemeral(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := 10000 + mathrand.IntN(20000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		l.Close()
		return fmt.Sprint(port)
	}
	t.Fatal("no free port")
	return ""
}

// certificates writes a certificate authority of its own and a certificate for
// 127.0.0.1, with its key, and returns the files' names.
func certificates(t *testing.T) (ca, cert, key string) {
	t.Helper()
	newKey := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "authority of the tests"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "127.0.0.1"},
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	authorityKey, leafKey := newKey(), newKey()
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	ca = write("ca.pem", "CERTIFICATE", der, err)
	der, err = x509.CreateCertificate(rand.Reader, leaf, authority, leafKey.Public(), authorityKey)
	cert = write("cert.pem", "CERTIFICATE", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(leafKey)
	key = write("key.pem", "PRIVATE KEY", der, err)
	return ca, cert, key
}
