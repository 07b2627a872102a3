package config

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// redisConfigAll returns what a fresh server answers to CONFIG GET *.
func redisConfigAll(t *testing.T, server string) map[string]string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	all := map[string]string{}
	withRedis(t, server, []string{"--port", "0", "--unixsocket", socket}, socket, func(rw *bufio.ReadWriter) {
		rw.WriteString("CONFIG GET *\r\n")
		rw.Flush()
		for range readLength(t, rw.Reader, '*') / 2 {
			name := readBulk(t, rw.Reader)
			all[name] = readBulk(t, rw.Reader)
		}
	})
	return all
}

// No parameter of the real server is unknown, and what CONFIG GET says of
// those that cannot be changed here is what a fresh server says.
func TestFacts_CoverRedis(t *testing.T) {
	all := redisConfigAll(t, redisServer(t))
	if len(all) < 100 {
		t.Fatalf("redis-server has %d parameters", len(all))
	}
	rows := table()
	for name := range all {
		if lookup(rows, name) == nil {
			t.Errorf("%s is not in the table", name)
		}
	}
	for _, p := range facts() {
		value, ok := all[p.name]
		if ok && p.def != value && p.get != nil && !p.hidden {
			t.Errorf("%s is %q, on redis-server %q", p.name, p.def, value)
		}
	}
}

// The file that a real server writes about itself can be used as it is.
func TestFile_RewrittenByRedis(t *testing.T) {
	server := redisServer(t)
	dir := t.TempDir()
	socket, conf := filepath.Join(dir, "s"), filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(conf, []byte("port 0\nunixsocket "+socket+"\nhz 20\nmaxclients 77\nclient-output-buffer-limit pubsub 1mb 2mb 3\nlogfile \"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	withRedis(t, server, []string{conf}, socket, func(rw *bufio.ReadWriter) {
		rw.WriteString("CONFIG SET save \"\" databases 3\r\nCONFIG SET save \"\"\r\nCONFIG REWRITE\r\n")
		rw.Flush()
		for _, want := range []string{"-ERR", "+OK", "+OK"} {
			if line, err := rw.ReadString('\n'); err != nil || !strings.HasPrefix(line, want) {
				t.Fatalf("answer %q (%v), want %s", line, err, want)
			}
		}
	})
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "CONFIG REWRITE") || !strings.Contains(string(text), "\nuser default ") {
		t.Fatalf("not rewritten:\n%s", text)
	}
	c, unused, err := Sources{Args: []string{conf}}.Load()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if c.MaxClients != 77 || c.OutputLimits.PubSub.HardBytes != 1<<20 || c.UnixSocket != socket {
		t.Errorf("loaded %+v of\n%s", c, text)
	}
	if len(unused) == 0 || unused[0].Name != "hz" {
		t.Errorf("without effect: %v, want hz first", unused)
	}
}

func TestFacts_ValueIsWhatIsAccepted(t *testing.T) {
	for _, p := range facts() {
		var c Config
		if p.get != nil {
			if got := p.get(&c); got != p.def {
				t.Errorf("%s: shown %q, defined %q", p.name, got, p.def)
			}
			if err := p.set(&c, []string{p.def}); err != nil {
				t.Errorf("%s %q: %v", p.name, p.def, err)
			}
		}
		if err := p.set(&c, []string{"nonsense"}); err == nil {
			t.Errorf("%s accepts nonsense", p.name)
		}
	}
	for _, p := range inert() {
		var c Config
		if strings.HasPrefix(p.name, "shutdown-on-") {
			continue // a list of known words
		}
		if err := p.set(&c, []string{"nonsense", "more"}); err != errWithoutEffect {
			t.Errorf("%s: %v, want %v", p.name, err, errWithoutEffect)
		}
	}
}
