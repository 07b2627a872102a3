//go:build unix

package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runAs runs the binary under another name.
func runAs(t *testing.T, name string, args ...string) outcome {
	t.Helper()
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(binary, link); err != nil {
		t.Fatal(err)
	}
	real := binary
	binary = link
	defer func() { binary = real }()
	return runToEnd(t, args...)
}

func TestRedisServer_IsTheBroker(t *testing.T) {
	version := "Redis server v=8.0.6 sha=00000000:0 malloc=go bits=64 build=broker-" + testVersion + "\n"
	for _, name := range []string{"redis-server", "valkey-server"} {
		if got, want := runAs(t, name, "--version"), (outcome{0, version, ""}); got != want {
			t.Errorf("%s --version: %+v, want %+v", name, got, want)
		}
		// No subcommands there: what is no flag is a file.
		expectFailure(t, runAs(t, name, "ping"), "cannot read configuration file ping")
	}
	if got, want := runToEnd(t, "redis-server", "-v"), (outcome{0, version, ""}); got != want {
		t.Errorf("broker redis-server -v: %+v, want %+v", got, want)
	}
	p, addr := startReady(t)
	_, port, _ := net.SplitHostPort(addr)
	for _, got := range []outcome{
		runAs(t, "redis-cli", "-p", port, "ping"),
		runToEnd(t, "redis-cli", "-p", port, "ping"),
		runToEnd(t, "ping", "-p", port),
	} {
		if want := (outcome{0, "PONG\n", ""}); got != want {
			t.Errorf("ping: %+v, want %+v", got, want)
		}
	}
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
	if got := runToEnd(t, "ping", "-p", port); got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "refused") {
		t.Errorf("ping of nobody: %+v", got)
	}
}

func TestServe_IsWhatHappensWithoutASubcommand(t *testing.T) {
	expectFailure(t, runToEnd(t, "serve", "--port", "70000"), "argument must be between 0 and 65535 inclusive")
}

func TestCheck_KnowsTheCertificates(t *testing.T) {
	if got, want := runToEnd(t, "check", "--port", "1", "--hz", "5"), (outcome{0, "ignored: hz (command line)\nok\n", ""}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	got := runToEnd(t, "check", "--tls-port", "2", "--tls-cert-file", "no/such/cert", "--tls-key-file", "no/such/key")
	if got.code != 1 || !strings.HasPrefix(got.stdout, "refused: ") || !strings.Contains(got.stdout, "no/such/cert") {
		t.Errorf("%+v", got)
	}
}

// The first signal ends a subcommand in good order.
func TestSub_EndsWithASignal(t *testing.T) {
	p, addr := startReady(t)
	_, port, _ := net.SplitHostPort(addr)
	var stderr bytes.Buffer
	cmd := exec.Command(binary, "sub", "-p", port, "ch")
	cmd.Env, cmd.Stderr = environment(), &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer timer.Stop()

	c := dial(t, "tcp", addr)
	for subscribers := false; !subscribers; {
		c.send(t, "PUBLISH", "ch", "hello")
		line, err := c.r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		subscribers = line == ":1\r\n"
	}
	message := make([]byte, len("hello\n"))
	if _, err := stdout.Read(message); err != nil || string(message) != "hello\n" {
		t.Fatalf("%q, %v", message, err)
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v; stderr %q", err, &stderr)
	}
	if !strings.HasPrefix(stderr.String(), "received 1 messages, 5 bytes") {
		t.Errorf("stderr %q", &stderr)
	}
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
}
