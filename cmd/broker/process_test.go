//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testVersion is linked into the binary under test.
const testVersion = "1.2.3-test"

// patience is how long a test waits for an event before it gives up. No
// assertion depends on it.
const patience = 30 * time.Second

const readyMessage = `msg="Ready to accept connections"`

// binary is the path of the broker that TestMain has built.
var binary string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "broker-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "broker")
	build := exec.Command("go", "build", "-ldflags", "-X broker/internal/broker.Version="+testVersion, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// environment returns the test's environment with more, but without what the
// broker takes for configuration.
func environment(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "BROKER_") })
	return append(env, more...)
}

// An outcome is what a process left behind.
type outcome struct {
	code           int // -1 when a signal ended it
	stdout, stderr string
}

// runToEnd runs the binary and waits for its end.
func runToEnd(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running broker %q: %v", args, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// A process is a broker that is running.
type process struct {
	cmd    *exec.Cmd
	stdout *os.File    // the read end of its stdout
	lines  chan string // its stdout, closed at the end of it
	ended  chan struct{}
	seen   []string // lines already taken from the channel

	// Written before ended is closed.
	stderr bytes.Buffer
}

// start runs the binary without waiting for anything. The process is killed
// when the test ends before it does.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startWith(t, environment(), "", args...)
}

// startWith is start with an environment and a text on standard input.
func startWith(t *testing.T, env []string, stdin string, args ...string) *process {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{
		cmd:    exec.Command(binary, args...),
		stdout: r,
		lines:  make(chan string, 1024),
		ended:  make(chan struct{}),
	}
	p.cmd.Env, p.cmd.Stdin = env, strings.NewReader(stdin)
	p.cmd.Stdout, p.cmd.Stderr = w, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	go func() {
		defer close(p.ended)
		p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.ended
		r.Close()
		for range p.lines {
		}
		if t.Failed() {
			t.Logf("stderr: %s", p.stderr.String())
		}
	})
	return p
}

// startReady starts a broker on a free loopback port, waits for its ready
// line and returns it and its address. A port that was taken meanwhile by
// somebody else is given up for another one.
func startReady(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	for range 5 {
		port := strconv.Itoa(freePort(t))
		p := start(t, append([]string{"--bind", "127.0.0.1", "--port", port}, args...)...)
		if p.line(t, readyMessage) != "" {
			return p, "127.0.0.1:" + port
		}
		if p.exit(t); !strings.Contains(p.stderr.String(), "ddress already in use") {
			break
		}
	}
	t.Fatal("the broker does not get ready")
	return nil, ""
}

// line returns the first line of stdout from here on that contains want, or
// "" when the output ends without one.
func (p *process) line(t *testing.T, want string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case text, ok := <-p.lines:
			if !ok {
				return ""
			}
			p.seen = append(p.seen, text)
			if strings.Contains(text, want) {
				return text
			}
		case <-timeout:
			t.Fatalf("no line with %s, only:\n%s", want, strings.Join(p.seen, "\n"))
		}
	}
}

// signal sends sig to the process.
func (p *process) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("sending %v: %v", sig, err)
	}
}

// exit waits for the end of the process and returns its exit status, -1 when
// a signal ended it.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("still running; its output:\n%s", strings.Join(p.seen, "\n"))
		return 0
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A client is one connection to a broker.
type client struct {
	conn net.Conn
	r    *bufio.Reader
}

func dial(t *testing.T, network, addr string) *client {
	t.Helper()
	conn, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &client{conn, bufio.NewReader(conn)}
}

// send writes one command.
func (c *client) send(t *testing.T, args ...string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		t.Fatalf("sending %s: %v", args[0], err)
	}
}

// expect reads the bytes of want and fails when others come.
func (c *client) expect(t *testing.T, want string) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c.r, got)
	if string(got[:n]) != want {
		t.Fatalf("got %q (%v), want %q", got[:n], err, want)
	}
}
