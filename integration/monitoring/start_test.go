package monitoring

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"broker/integration/harness"
	"broker/internal/broker"
	"broker/internal/config"
)

// A server is a broker with an admin listener.
type server struct {
	*broker.Broker
	addr  string // of the Redis port
	admin string // of the admin listener
}

// start runs a broker inside the test's process until the test ends.
func start(t *testing.T, flags ...string) *server {
	t.Helper()
	cfg, err := config.Load(append([]string{"--bind", "127.0.0.1", "--shards", "2", "--admin", "127.0.0.1:0"}, flags...))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Port = config.AnyPort
	b, err := broker.Start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Broker: b, addr: b.Addrs()[0].String(), admin: "http://" + b.AdminAddr().String()}
	t.Cleanup(func() {
		if s.Broker != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			b.Shutdown(ctx)
		}
	})
	return s
}

// get asks the admin listener, on a connection of its own.
func (s *server) get(t *testing.T, path string, edit func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.admin+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	if edit != nil {
		edit(r)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, string(body)
}

// series returns the samples of a text exposition, by name and labels as they
// are written.
func series(t *testing.T, text string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out[line[:i]] = v
	}
	return out
}

func dial(t *testing.T, s *server) *harness.Conn {
	t.Helper()
	c, err := harness.Dial(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func do(t *testing.T, c *harness.Conn, args ...string) harness.Value {
	t.Helper()
	v, err := c.Do(args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// debianPython is the one that Debian's packages are for; another may come first
// in the PATH.
const debianPython = "/usr/bin/python3"

// need returns the path of a program that a package of Debian brings. As
// [harness.Program] it skips the test without it, or fails it where CI is set.
func need(t *testing.T, name, debian string, try ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil && len(try) > 0 {
		err = exec.Command(path, try...).Run()
	}
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		t.Fatalf("apt-get install %s: %v", debian, err)
	}
	t.Skipf("optional: apt-get install %s: %v", debian, err)
	return ""
}
