package harness

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Target is a running server under test.
type Target struct {
	// Name says what it is in messages: "redis-server", "broker shards=2
	// io=epoll".
	Name string
	// Addr is "127.0.0.1:port".
	Addr string
	// TLS is how to speak to Addr, nil for plain text.
	TLS *tls.Config

	once sync.Once
	stop func()
}

// Stop ends the server and waits until it is gone; a test needs it only to
// stop a server before its own end. It is safe to call more than once.
func (t *Target) Stop() { t.once.Do(t.stop) }

// Dial connects to the target; the connection is closed when the test ends.
func (t *Target) Dial(tb testing.TB) *Conn {
	tb.Helper()
	c, err := DialTLS(t.Addr, 0, t.TLS)
	if err != nil {
		tb.Fatalf("%s: %v", t.Name, err)
	}
	tb.Cleanup(c.Close)
	return c
}

// Port returns the port number of the target's address.
func (t *Target) Port() string {
	_, port, _ := net.SplitHostPort(t.Addr)
	return port
}

// freePort returns a loopback port that was free a moment ago. Another process
// can take it before it is used: callers try again.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// A Variant is one way to run the broker. What clients see must not depend on
// it.
type Variant struct {
	Shards int
	IO     string // the I/O driver, "epoll" or "net"
}

// String names the variant as subtests do.
func (v Variant) String() string { return fmt.Sprintf("shards=%d/io=%s", v.Shards, v.IO) }

// Variants returns the variants with the given numbers of shards, for every
// I/O driver that this system has.
func Variants(shards ...int) []Variant {
	var vs []Variant
	for _, n := range shards {
		if runtime.GOOS == "linux" {
			vs = append(vs, Variant{n, "epoll"})
		}
		vs = append(vs, Variant{n, "net"})
	}
	return vs
}

// startAttempts is how often a server is started when its port was taken
// between the choice and the use.
const startAttempts = 5

// StartRedis starts a redis-server with the given flags ("--maxclients", "3")
// and stops it when the test ends. Without redis-server the test ends as
// [Program] says.
func StartRedis(tb testing.TB, flags ...string) *Target {
	tb.Helper()
	return StartRedisAt(tb, "", flags...)
}

// StartRedisAt is StartRedis at an address that was in use before,
// "127.0.0.1:port"; "" means any.
func StartRedisAt(tb testing.TB, addr string, flags ...string) *Target {
	tb.Helper()
	path := Program(tb, "redis-server")
	own := []string{
		"--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--logfile", "", "--dir", tb.TempDir(),
	}
	return startServer(tb, "redis-server", path, addr, append(own, flags...))
}

// startServer runs the program at path, at addr or when that is empty on a free
// port, and waits until it says that it accepts connections.
func startServer(tb testing.TB, name, path, addr string, flags []string) *Target {
	tb.Helper()
	var err error
	for range startAttempts {
		_, port, e := net.SplitHostPort(addr)
		if addr == "" {
			port, e = freePort()
		}
		if e != nil {
			tb.Fatal(e)
		}
		cmd := exec.Command(path, append([]string{"--port", port}, flags...)...)
		var stop func()
		stop, err = startProcess(tb, cmd, "Ready to accept connections")
		if err == nil {
			t := &Target{Name: name, Addr: "127.0.0.1:" + port, stop: stop}
			tb.Cleanup(t.Stop)
			return t
		}
		if !strings.Contains(strings.ToLower(err.Error()), "already in use") {
			break
		}
	}
	tb.Fatalf("%s: %v", name, err)
	return nil
}

// startProcess runs cmd until it prints a line that contains ready. The
// returned stop asks it to end, waits, and kills it if it does not.
func startProcess(tb testing.TB, cmd *exec.Cmd, ready string) (stop func(), err error) {
	tb.Helper()
	// A pipe of our own: Wait closes StdoutPipe's while the reader below may
	// still be reading it.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	// The server ends with the test process, however that ends. The kernel ties
	// this to the thread that started it, so one goroutine keeps that thread
	// for as long as the server runs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	running, exited := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(exited)
		err := cmd.Start()
		running <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	err = <-running
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	started := make(chan string, 1) // "" when ready, else everything it said
	go func() {
		defer r.Close()
		var said strings.Builder
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			fmt.Fprintln(&said, lines.Text())
			if strings.Contains(lines.Text(), ready) {
				started <- ""
				// Read on, or the server blocks once the pipe is full.
				io.Copy(io.Discard, r)
				return
			}
		}
		started <- "ended: " + said.String()
	}()
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(Patience):
			cmd.Process.Kill()
			<-exited
			tb.Errorf("%s did not end within %v of SIGTERM", cmd.Path, Patience)
		}
	}
	select {
	case said := <-started:
		if said == "" {
			return stop, nil
		}
		<-exited
		return nil, errors.New(said)
	case <-time.After(Patience):
		stop()
		return nil, fmt.Errorf("not ready within %v", Patience)
	}
}
