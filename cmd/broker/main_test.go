//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"broker/internal/cli"
	"broker/internal/config"
)

func TestHelp_OnStdoutWithStatus0(t *testing.T) {
	for _, arg := range []string{"-h", "--help"} {
		if got, want := runToEnd(t, arg), (outcome{0, config.Help() + "\n" + cli.Help(), ""}); got != want {
			t.Errorf("broker %s: %+v, want %+v", arg, got, want)
		}
	}
}

func TestVersion_IsTheLinkedOneOnStdoutWithStatus0(t *testing.T) {
	for _, arg := range []string{"-v", "--version"} {
		if got, want := runToEnd(t, arg), (outcome{0, "broker " + testVersion + "\n", ""}); got != want {
			t.Errorf("broker %s: %+v, want %+v", arg, got, want)
		}
	}
}

// expectFailure checks for status 1, no readiness on stdout and one line on
// stderr that contains want.
func expectFailure(t *testing.T, got outcome, want string) {
	t.Helper()
	if got.code != 1 {
		t.Errorf("exit status %d, want 1", got.code)
	}
	if strings.Contains(got.stdout, readyMessage) {
		t.Errorf("stdout %q, want no ready line", got.stdout)
	}
	if strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "broker: ") || !strings.Contains(got.stderr, want) {
		t.Errorf("stderr %q, want one line beginning with broker: and containing %q", got.stderr, want)
	}
}

func TestBadArguments_OneLineOnStderrWithStatus1(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--prot", "7000"}, "did you mean --port?"},
		{[]string{"--port", "70000"}, "argument must be between 0 and 65535 inclusive"},
		{[]string{"--port"}, "wrong number of arguments"},
		{[]string{"--port", "a\nb"}, `--port "a\nb": argument couldn't be parsed into an integer`},
		{[]string{"--client-output-buffer-limit", "pubsub", "1"}, "Wrong number of arguments in buffer limit configuration."},
		{[]string{"--client-query-buffer-limit", "lots"}, "argument must be a memory value"},
		{[]string{"--port", "0"}, "not listen anywhere"},
		{[]string{"pong"}, "cannot read configuration file pong: no such file or directory"},
		{[]string{"-p"}, `unexpected argument "-p"`},
		{[]string{"--daemonize", "yes"}, `--daemonize "yes": not supported`},
		{[]string{"--logfile", "no/such/log"}, "no/such/log: no such file or directory"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			expectFailure(t, runToEnd(t, tc.args...), tc.want)
		})
	}
}

func TestBusyPort_OneLineOnStderrWithStatus1(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	got := runToEnd(t, "--bind", "127.0.0.1", "--port", port)
	expectFailure(t, got, l.Addr().String())
	// Redis's own tools look for it where the log is.
	if want := "Failed listening on port " + port; strings.Count(got.stdout, want) != 1 {
		t.Errorf("stdout %q, want one line with %s", got.stdout, want)
	}
	if !strings.Contains(strings.ToLower(got.stderr), "address already in use") {
		t.Errorf("stderr %q does not say why", got.stderr)
	}
}

func TestBind_MissingAddressMustBeMarkedOptional(t *testing.T) {
	// 192.0.2.1 is reserved for documentation: no machine has it.
	expectFailure(t, runToEnd(t, "--bind", "192.0.2.1", "--port", fmt.Sprint(freePort(t))), "192.0.2.1")

	p, addr := startReady(t, "--bind", "-192.0.2.1", "127.0.0.1", "--protected-mode", "no")
	c := dial(t, "tcp", addr)
	c.send(t, "PING")
	c.expect(t, "+PONG\r\n")
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
}

func TestReady_IsOneLineOnStdout(t *testing.T) {
	p, addr := startReady(t, "--shards", "2", "--io", "net")
	c := dial(t, "tcp", addr)
	c.send(t, "PING")
	c.expect(t, "+PONG\r\n")
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
	p.line(t, "\x00") // reads the rest

	var ready []string
	for _, line := range p.seen {
		if strings.Contains(line, readyMessage) {
			ready = append(ready, line)
		}
	}
	if len(ready) != 1 {
		t.Fatalf("ready lines: %q, want one", ready)
	}
	want := regexp.MustCompile(fmt.Sprintf(
		`^time=\S+ level=INFO msg="Ready to accept connections" version=%s pid=%d shards=2 io=net addrs=%s$`,
		regexp.QuoteMeta(testVersion), p.cmd.Process.Pid, regexp.QuoteMeta(addr)))
	if !want.MatchString(ready[0]) {
		t.Errorf("ready line %q\nwant      %s", ready[0], want)
	}
}

// Tools that start a redis-server wait for these lines in this order.
func TestStart_LinesThatToolsWaitFor(t *testing.T) {
	p, _ := startReady(t)
	want := []string{
		fmt.Sprintf(` level=INFO msg=Starting broker="version %s, PID: %d"`, testVersion, p.cmd.Process.Pid),
		` level=INFO msg="Server initialized"`,
		` level=INFO ` + readyMessage + " ",
	}
	for i, w := range want {
		if i >= len(p.seen) || !strings.Contains(p.seen[i], w) {
			t.Fatalf("lines %q, want %q in this order", p.seen, want)
		}
	}
}

func TestLogLevel_ChangesAtRunTime(t *testing.T) {
	p, addr := startReady(t)
	c := dial(t, "tcp", addr)
	for _, level := range []string{"warning", "notice"} {
		c.send(t, "CONFIG", "SET", "loglevel", level)
		c.expect(t, "+OK\r\n")
	}
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
	p.line(t, "\x00") // reads the rest
	changes := 0
	for _, line := range p.seen {
		if strings.Contains(line, `msg="Configuration changed" parameters=loglevel`) {
			changes++
		}
	}
	if changes != 1 {
		t.Errorf("%d lines about a change, want that of the second only; lines: %q", changes, p.seen)
	}
}

func TestStopSignal_ClosesListenersAndExitsWith0(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			p, addr := startReady(t)
			c := dial(t, "tcp", addr)
			c.send(t, "SUBSCRIBE", "ch")
			c.expect(t, "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n")
			p.signal(t, sig)
			if code := p.exit(t); code != 0 {
				t.Errorf("exit status %d, want 0", code)
			}
			if p.stderr.Len() != 0 {
				t.Errorf("stderr %q, want nothing", p.stderr.String())
			}
			if b, err := c.r.ReadByte(); err == nil {
				t.Errorf("read %q, want the connection closed", b)
			}
			if conn, err := net.Dial("tcp", addr); err == nil {
				conn.Close()
				t.Errorf("%s still accepts connections", addr)
			}
		})
	}
}

// block leaves more unread messages at the broker than the kernel's buffers
// take, so that a shutdown has something to wait for.
func block(t *testing.T, addr string) {
	t.Helper()
	subscriber := dial(t, "tcp", addr)
	subscriber.send(t, "SUBSCRIBE", "ch")
	subscriber.expect(t, "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n")
	publisher := dial(t, "tcp", addr)
	payload := strings.Repeat("x", 1<<20)
	for range 32 {
		publisher.send(t, "PUBLISH", "ch", payload)
		publisher.expect(t, ":1\r\n")
	}
}

func TestStopSignal_SubscriberThatDoesNotReadIsGivenUp(t *testing.T) {
	p, addr := startReady(t, "--shutdown-timeout", "1", "--client-output-buffer-limit", "pubsub 0 0 0")
	block(t, addr)
	p.signal(t, syscall.SIGTERM)
	if p.line(t, "Shut down with undelivered messages") == "" {
		t.Errorf("no word of what was not delivered:\n%s", strings.Join(p.seen, "\n"))
	}
	if code := p.exit(t); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
}

func TestStopSignal_SecondOneExitsAtOnceWith1(t *testing.T) {
	// The timeout is past the test's patience: only the signal can end it.
	p, addr := startReady(t, "--shutdown-timeout", "3600", "--client-output-buffer-limit", "pubsub 0 0 0")
	block(t, addr)
	p.signal(t, syscall.SIGTERM)
	if p.line(t, `msg="Shutting down"`) == "" {
		t.Fatalf("no word of the shutdown:\n%s", strings.Join(p.seen, "\n"))
	}
	p.signal(t, syscall.SIGINT)
	if code := p.exit(t); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
}

func TestHangup_IsIgnored(t *testing.T) {
	p, addr := startReady(t)
	p.signal(t, syscall.SIGHUP)
	c := dial(t, "tcp", addr)
	c.send(t, "PING")
	c.expect(t, "+PONG\r\n")
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
}

func TestStdout_ReaderGoneIsNoReasonToDie(t *testing.T) {
	p, _ := startReady(t)
	p.stdout.Close()
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit status %d, want 0 (-1 is a death by signal)", code)
	}
}

func TestUnixSocket_ServesWithoutTCP(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	p := start(t, "--port", "0", "--unixsocket", path, "--unixsocketperm", "700")
	ready := p.line(t, readyMessage)
	if !strings.HasSuffix(ready, " addrs="+path) {
		t.Fatalf("ready line %q, want addrs=%s", ready, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode(); got != os.ModeSocket|0o700 {
		t.Errorf("mode %v, want %v", got, os.ModeSocket|0o700)
	}
	c := dial(t, "unix", path)
	c.send(t, "PING")
	c.expect(t, "+PONG\r\n")
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket file is still there: %v", err)
	}
}
