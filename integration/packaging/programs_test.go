package packaging

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"broker/integration/harness"
)

// root is the module's folder.
const root = "../.."

// need returns the path of a program that a package of Debian brings. As
// [harness.Program] it skips the test without it, or fails it where CI is set.
func need(t *testing.T, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		t.Fatalf("%s is not installed (apt-get install %s)", name, debian)
	}
	t.Skipf("optional: %s is not installed (apt-get install %s)", name, debian)
	return ""
}

// run runs a program in the module's folder to its end and returns what it
// wrote.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// folder is where static builds; TestMain makes and removes it.
var folder string

func TestMain(m *testing.M) {
	os.Exit(inFolder(m))
}

func inFolder(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "broker-packaging-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return m.Run()
}

// buildStatic builds the program as releases contain it, once, and returns
// what went wrong.
var buildStatic = sync.OnceValue(func() error {
	cmd := exec.Command("make", "--no-print-directory", "static", "OUT="+filepath.Join(folder, "broker"))
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make static: %w\n%s", err, out)
	}
	return nil
})

// static returns the path of that program.
func static(t *testing.T) string {
	t.Helper()
	if err := buildStatic(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "broker")
}

// freePort returns a loopback port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// dialWhenReady connects to a broker that is starting; ended is closed when it
// has ended instead.
func dialWhenReady(t *testing.T, port string, ended <-chan struct{}) *harness.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	for {
		c, err := harness.Dial("127.0.0.1:" + port)
		if err == nil {
			t.Cleanup(c.Close)
			return c
		}
		select {
		case <-ended:
			t.Fatal("the broker has ended")
		case <-ctx.Done():
			t.Fatalf("the broker does not listen: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
