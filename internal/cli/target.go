package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"broker/internal/config"
)

// passwordVariable is where redis-cli looks for a password, too.
const passwordVariable = "REDISCLI_AUTH"

// A target is the broker that a tool talks to and how.
type target struct {
	host, port     string
	socket         string // of a Unix socket; overrides host and port
	user, password string
	uri            string // overrides host, port, user, password, database and TLS
	database       int
	timeout        time.Duration // of connecting and of each reply; 0: none
	resp3          bool

	tls                          bool
	caFile, caDir, certFile, key string
	serverName                   string
	insecure                     bool
}

const (
	defaultHost = "127.0.0.1"
	defaultPort = "6379"
)

// addFlags adds redis-cli's flags for the connection. timeout is the default.
func (t *target) addFlags(set *flag.FlagSet, timeout time.Duration) {
	set.StringVar(&t.host, "h", defaultHost, "name or address of the `HOST`")
	set.StringVar(&t.port, "p", "", "the `PORT` (default: 6379, or what BROKER_PORT says)")
	set.StringVar(&t.socket, "s", "", "`PATH` of a Unix socket, instead of host and port")
	set.StringVar(&t.password, "a", "", "the `PASSWORD`")
	set.StringVar(&t.password, "pass", "", "the `PASSWORD`, as -a")
	set.StringVar(&t.user, "user", "", "`NAME` of the user that the password belongs to")
	set.StringVar(&t.uri, "u", "", "`URI` of the broker: redis://user:password@host:port/database, rediss:// with TLS")
	set.IntVar(&t.database, "n", 0, "`NUMBER` of the database to select")
	set.DurationVar(&t.timeout, "timeout", timeout, "longest `TIME` to wait for the connection and for a reply, such as 3s; 0 waits forever")
	set.BoolVar(&t.tls, "tls", false, "use TLS")
	set.StringVar(&t.caFile, "cacert", "", "`FILE` of certificates to trust, instead of the system's")
	set.StringVar(&t.caDir, "cacertdir", "", "`FOLDER` of such files")
	set.StringVar(&t.certFile, "cert", "", "`FILE` of the client's certificate")
	set.StringVar(&t.key, "key", "", "`FILE` of the key of that certificate")
	set.StringVar(&t.serverName, "sni", "", "`NAME` that the broker's certificate has to be for (default: the host)")
	set.BoolVar(&t.insecure, "insecure", false, "accept any certificate")
}

// resolve completes the target with the environment: the password, and the
// port and socket of a broker that is configured by the same environment, as
// in a container.
func (t *target) resolve(env []string) error {
	if t.uri != "" {
		if err := t.parseURI(); err != nil {
			return err
		}
	}
	if t.password == "" {
		t.password = variable(env, passwordVariable)
	}
	if t.port != "" || t.socket != "" {
		return nil
	}
	t.port = defaultPort
	cfg, _, err := config.Sources{Env: env}.Load()
	if err != nil || t.uri != "" {
		return nil // what the broker is told is for the broker to complain about
	}
	switch {
	case t.tls && cfg.TLSPort > 0:
		t.port = strconv.Itoa(cfg.TLSPort)
	case cfg.Port > 0:
		t.port = strconv.Itoa(cfg.Port)
	case cfg.UnixSocket != "" && t.host == defaultHost:
		t.socket = cfg.UnixSocket
	}
	if t.password == "" && t.user == "" {
		t.password = cfg.RequirePass
	}
	return nil
}

func variable(env []string, name string) string {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v
		}
	}
	return ""
}

func (t *target) parseURI() error {
	u, err := url.Parse(t.uri)
	if err != nil {
		return errors.New("the URI cannot be parsed") // it may hold a password
	}
	switch u.Scheme {
	case "redis", "valkey":
	case "rediss", "valkeys":
		t.tls = true
	default:
		return fmt.Errorf("a URI begins with redis:// or rediss://, not %s://", u.Scheme)
	}
	if h := u.Hostname(); h != "" {
		t.host = h
	}
	if p := u.Port(); p != "" {
		t.port = p
	}
	if u.User != nil {
		t.user = u.User.Username()
		t.password, _ = u.User.Password()
	}
	if path := strings.Trim(u.Path, "/"); path != "" {
		if t.database, err = strconv.Atoi(path); err != nil {
			return fmt.Errorf("the database of a URI is a number, not %q", path)
		}
	}
	return nil
}

// address returns what to dial.
func (t *target) address() (network, addr string) {
	if t.socket != "" {
		return "unix", t.socket
	}
	return "tcp", net.JoinHostPort(t.host, t.port)
}

func (t *target) tlsConfig() (*tls.Config, error) {
	cfg := &tls.Config{ServerName: t.serverName, InsecureSkipVerify: t.insecure, MinVersion: tls.VersionTLS12}
	if cfg.ServerName == "" && t.socket == "" {
		cfg.ServerName = t.host
	}
	files := []string{}
	if t.caFile != "" {
		files = append(files, t.caFile)
	}
	if t.caDir != "" {
		found, err := filepath.Glob(filepath.Join(t.caDir, "*"))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) > 0 {
		cfg.RootCAs = x509.NewCertPool()
		any := false
		for _, f := range files {
			pem, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			any = cfg.RootCAs.AppendCertsFromPEM(pem) || any
		}
		if !any {
			return nil, errors.New("no certificate found to trust")
		}
	}
	if t.certFile != "" || t.key != "" {
		pair, err := tls.LoadX509KeyPair(t.certFile, t.key)
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
