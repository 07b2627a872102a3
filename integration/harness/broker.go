package harness

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"broker/internal/broker"
	"broker/internal/config"
)

// Start starts the variant inside the test's process, with the given flags
// besides ("--maxclients", "3"), on a port of its own.
func (v Variant) Start(tb testing.TB, flags ...string) *Target {
	tb.Helper()
	return v.StartAt(tb, "", flags...)
}

// StartAt is Start at an address that was in use before, "127.0.0.1:port".
func (v Variant) StartAt(tb testing.TB, addr string, flags ...string) *Target {
	tb.Helper()
	return v.start(tb, addr, nil, flags)
}

// StartTLS is Start with a TLS port in place of the plain one. Clients are
// asked for no certificate.
func (v Variant) StartTLS(tb testing.TB, flags ...string) *Target {
	tb.Helper()
	cert, key, client := Certificate(tb)
	return v.start(tb, "", client, append([]string{
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no",
	}, flags...))
}

// start starts the variant with a plain port, or where client is not nil with
// a TLS port for clients of this configuration.
func (v Variant) start(tb testing.TB, addr string, client *tls.Config, flags []string) *Target {
	tb.Helper()
	args := append([]string{
		"--bind", "127.0.0.1", "--shards", strconv.Itoa(v.Shards), "--io", v.IO,
	}, flags...)
	cfg, err := config.Load(args)
	if err != nil {
		tb.Fatalf("%v: %v", v, err)
	}
	cfg.Port = config.AnyPort
	if addr != "" {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			tb.Fatal(err)
		}
		if cfg.Port, err = strconv.Atoi(port); err != nil {
			tb.Fatal(err)
		}
	}
	if client != nil {
		cfg.Port, cfg.TLSPort = 0, cfg.Port
	}
	b, err := broker.Start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatalf("%v: %v", v, err)
	}
	t := &Target{Name: "broker " + v.String(), Addr: b.Addrs()[0].String(), TLS: client}
	t.stop = func() {
		// Some tests leave clients that never read: to wait for those is no use.
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		b.Shutdown(ctx)
	}
	tb.Cleanup(t.Stop)
	return t
}

// BuildBinary builds cmd/broker into dir and returns the program's path.
func BuildBinary(tb testing.TB, dir string) string {
	tb.Helper()
	path := filepath.Join(dir, "broker")
	out, err := exec.Command("go", "build", "-o", path, "broker/cmd/broker").CombinedOutput()
	if err != nil {
		tb.Fatalf("build the broker: %v\n%s", err, out)
	}
	return path
}

// StartBinaryAt starts a built broker as a process of its own, at addr or when
// that is empty on a free port, and stops it when the test ends.
func StartBinaryAt(tb testing.TB, path, addr string, flags ...string) *Target {
	tb.Helper()
	return startServer(tb, "broker binary", path, addr, append([]string{"--bind", "127.0.0.1"}, flags...))
}
