package course

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strings"
)

// Addr returns the server's address, "host:port".
func Addr() string {
	return net.JoinHostPort(os.Getenv("BROKER_HOST"), os.Getenv("BROKER_PORT"))
}

// Credentials returns the user's name, which is "" for the default user, and
// the password, which is "" when there is none.
func Credentials() (user, password string) {
	return os.Getenv("BROKER_USER"), os.Getenv("BROKER_PASSWORD")
}

// RESP2 reports whether the program is to speak RESP2 and not RESP3.
func RESP2() bool { return os.Getenv("BROKER_PROTO") == "2" }

// TLS returns what a connection over TLS needs, or nil for one without.
func TLS() *tls.Config {
	file := os.Getenv("BROKER_CA")
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	Check(err, "read the certificate authority")
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		Fail("%s holds no certificate", file)
	}
	return &tls.Config{RootCAs: pool, ServerName: os.Getenv("BROKER_HOST")}
}

// Steps reports whether the program is to do the named optional step.
func Steps(name string) bool {
	for s := range strings.FieldsSeq(os.Getenv("BROKER_STEPS")) {
		if s == name {
			return true
		}
	}
	return false
}
