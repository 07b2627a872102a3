//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// listenNotify is the service manager's end.
func listenNotify(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	l.SetReadDeadline(time.Now().Add(patience))
	return l
}

func told(t *testing.T, l *net.UnixConn) string {
	t.Helper()
	message := make([]byte, 1024)
	n, err := l.Read(message)
	if err != nil {
		t.Fatalf("the service manager was told nothing: %v", err)
	}
	return string(message[:n])
}

func TestSupervised_ManagerIsToldOfStartAndEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	for how, name := range map[string]string{
		"systemd": path,
		"auto":    fmt.Sprintf("@broker-test-%d", os.Getpid()), // an abstract name
	} {
		l := listenNotify(t, name)
		p := startWith(t, environment("NOTIFY_SOCKET="+name), "",
			"--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t)), "--supervised", how)
		if got := told(t, l); !strings.HasPrefix(got, "READY=1\n") {
			t.Errorf("%s: told %q", how, got)
		}
		p.signal(t, syscall.SIGTERM)
		if got := told(t, l); !strings.HasPrefix(got, "STOPPING=1\n") {
			t.Errorf("%s: told %q", how, got)
		}
		if code := p.exit(t); code != 0 {
			t.Errorf("%s: exit status %d", how, code)
		}
	}
}

func TestSupervised_NobodyToTell(t *testing.T) {
	l := listenNotify(t, filepath.Join(t.TempDir(), "notify"))
	for _, tc := range []struct {
		how, env string
		warns    bool
	}{
		{"no", "NOTIFY_SOCKET=" + l.LocalAddr().String(), false},
		{"auto", "NOTIFY_SOCKET=", false},
		{"systemd", "NOTIFY_SOCKET=", true},
		{"systemd", "NOTIFY_SOCKET=" + t.TempDir() + "/none", true},
	} {
		p := startWith(t, environment(tc.env), "", "--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t)), "--supervised", tc.how)
		if p.line(t, readyMessage) == "" {
			t.Fatalf("%+v: not ready: %s", tc, p.stderr.String())
		}
		p.signal(t, syscall.SIGTERM)
		p.exit(t)
		log := strings.Join(p.seen, "\n")
		if strings.Contains(log, "Cannot tell the service manager") != tc.warns {
			t.Errorf("%+v: log\n%s", tc, log)
		}
	}
	l.SetReadDeadline(time.Now())
	if n, err := l.Read(make([]byte, 1024)); err == nil {
		t.Errorf("%d bytes were sent to a manager that was not asked for", n)
	}
}

func TestAdmin_ReadyLineNamesTheAddress(t *testing.T) {
	p := start(t, "--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t)), "--admin", "127.0.0.1:0")
	ready := p.line(t, readyMessage)
	_, addr, ok := strings.Cut(ready, " admin=")
	if !ok {
		t.Fatalf("ready line %q", ready)
	}
	c, err := net.Dial("tcp", strings.TrimSpace(addr))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	expectFailure(t, runToEnd(t, "--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t)), "--admin", addr), "admin listening socket")
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit status %d", code)
	}
}
