package shard

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
)

// overTLS in a test's name makes its connections speak TLS.
const overTLS = "/tls"

// connect returns the client's and our end of a connection in memory, after
// the handshake where the test's name asks for TLS.
func connect(t testing.TB) (client, server net.Conn) {
	ours, theirs := net.Pipe()
	if !strings.Contains(t.Name(), overTLS) {
		return ours, theirs
	}
	return handshake(t, ours, theirs, tls.VersionTLS13)
}

// handshake makes one between the ends of a connection.
func handshake(t testing.TB, ours, theirs net.Conn, version uint16) (client, server *tls.Conn) {
	client = tls.Client(ours, &tls.Config{InsecureSkipVerify: true, MaxVersion: version})
	server = tls.Server(theirs, serverConfig())
	done := make(chan error)
	go func() { done <- server.Handshake() }()
	if err := client.Handshake(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	return client, server
}

// serverConfig holds one certificate for all tests. Session tickets are left
// out: over a connection without a buffer the handshake would wait for the
// client to read them.
var serverConfig = sync.OnceValue(func() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		SessionTicketsDisabled: true,
	}
})
