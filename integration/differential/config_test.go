package differential

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"broker/integration/harness"
)

// A configured server was started with a configuration file and is reached
// over the Unix socket that the file names: its ports may change.
type configured struct {
	name string
	file string
	conn net.Conn
	r    *bufio.Reader
}

// startConfigured runs the program at path with a file of the given text.
func startConfigured(t *testing.T, name, path, text string) *configured {
	t.Helper()
	dir := t.TempDir()
	s := &configured{name: name, file: filepath.Join(dir, "server.conf")}
	socket := filepath.Join(dir, "s")
	if err := os.WriteFile(s.file, []byte(text+"unixsocket "+socket+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, s.file)
	cmd.Dir = dir
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		out.Close()
	})
	w.Close()
	out.SetReadDeadline(time.Now().Add(harness.Patience))
	var said []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, lines.Text())
		// redis-server says it of each kind of listener.
		if ready := strings.Contains(lines.Text(), "eady to accept connections"); ready && strings.Contains(lines.Text(), socket) {
			break
		}
	}
	out.SetReadDeadline(time.Time{})
	if s.conn, err = net.Dial("unix", socket); err != nil {
		t.Fatalf("%s: %v after\n%s", name, err, strings.Join(said, "\n"))
	}
	t.Cleanup(func() { s.conn.Close() })
	s.conn.SetDeadline(time.Now().Add(4 * harness.Patience))
	s.r = bufio.NewReader(s.conn)
	return s
}

// do sends a command and returns the whole reply.
func (s *configured) do(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := s.conn.Write(harness.AppendCommand(nil, args...)); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	var reply strings.Builder
	for lines := 1; lines > 0; lines-- {
		line, err := s.r.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %q: %v after %q", s.name, args, err, reply.String())
		}
		reply.WriteString(line)
		switch n, _ := strconv.Atoi(strings.TrimSpace(line[1:])); line[0] {
		case '*':
			lines += n
		case '$':
			lines++ // no value here has a line break
		}
	}
	return reply.String()
}

// TestConfig changes the configuration of a redis-server and of a broker that
// were started with the same file.
func TestConfig(t *testing.T) {
	redis := harness.Program(t, "redis-server")
	binary := harness.BuildBinary(t, t.TempDir())
	both := func(t *testing.T, text string) [2]*configured {
		return [2]*configured{
			startConfigured(t, "redis-server", redis, text),
			startConfigured(t, "broker", binary, text),
		}
	}
	t.Run("listeners", func(t *testing.T) {
		compareListeners(t, both(t, "port 0\nbind 127.0.0.1\nprotected-mode yes\n"))
	})
	t.Run("rewrite", func(t *testing.T) { compareRewritten(t, both(t, fileToRewrite)) })
	t.Run("rewrite without a folder", func(t *testing.T) { compareRewriteErrors(t, both(t, "port 0\n")) })
}

// listenSomewhere returns a port that somebody listens on until the test ends.
func listenSomewhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// moveToFreePort makes the server listen on a port that it can have.
func (s *configured) moveToFreePort(t *testing.T) string {
	t.Helper()
	reply := ""
	for range 5 { // somebody else may take the port before the server does
		// Free on every address: others are bound later.
		l, err := net.Listen("tcp4", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		l.Close()
		if reply = s.do(t, "CONFIG", "SET", "port", port); reply == "+OK\r\n" {
			return port
		}
	}
	t.Fatalf("%s does not move to a free port: %q", s.name, reply)
	return ""
}

// How many descriptors there are is not the servers' doing.
var bestClients = regexp.MustCompile(`try with \d+`)

// compareListeners changes what is listened on, on both servers alike,
// and looks after each step at what is listened on then.
func compareListeners(t *testing.T, servers [2]*configured) {
	busy := listenSomewhere(t)
	var own [2]string
	for i, s := range servers {
		own[i] = s.moveToFreePort(t)
	}
	for _, step := range []string{
		"port {busy}",
		"port {own}",
		"bind 127.0.0.1 192.0.2.1",
		"bind -192.0.2.1 127.0.0.1",
		"bind 127.0.0.1 127.0.0.2",
		"bind 192.0.2.1|port {busy}",
		"port {busy}|bind 192.0.2.1",
		"bind 127.0.0.1|port {busy}",
		"maxclients 100000000",
		"maxclients 100000000|port {busy}",
		"port {busy}|maxclients 100000000",
		"timeout 5|port {busy}",
		"timeout 6|bind 127.0.0.2",
		"bind *",
		"bind 127.0.0.3",
		"tls-port {busy}",
		"tls-cert-file /no/such/file",
		"tls-port {busy}|tls-cert-file /no/such/file",
		"tls-cert-file ",
		"bind ",
		"bind 127.0.0.1",
		"port 0",
		"port {own}",
		"unixsocket x", "tcp-backlog 5",
	} {
		var got [2]string
		for i, s := range servers {
			words := []string{"CONFIG", "SET"}
			for part := range strings.SplitSeq(step, "|") {
				name, value, _ := strings.Cut(part, " ")
				value = strings.NewReplacer("{busy}", busy, "{own}", own[i]).Replace(value)
				words = append(words, name, value)
			}
			reply := s.do(t, words...)
			for _, name := range []string{"port", "bind", "maxclients", "timeout", "tls-port", "tls-cert-file"} {
				reply += s.do(t, "CONFIG", "GET", name)
			}
			for _, host := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"} {
				reply += fmt.Sprintf("%s open: %v\n", host, open(net.JoinHostPort(host, own[i])))
			}
			reply = bestClients.ReplaceAllString(reply, "try with N")
			got[i] = strings.ReplaceAll(reply, "\r\n"+own[i]+"\r\n", "\r\n{own}\r\n")
		}
		if got[0] != got[1] {
			t.Errorf("CONFIG SET %s\nredis-server %q\nbroker       %q", step, got[0], got[1])
		}
	}
}

func open(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, harness.Patience)
	if err == nil {
		c.Close()
	}
	return err == nil
}

const fileToRewrite = `# first
port 0

bind 127.0.0.1
# about clients
maxclients 50
timeout 3
save ""
hz 20
tcp-keepalive 7
tcp-keepalive 8
# last
`

// compareRewritten makes the same changes to both servers and compares what
// they write to their files.
func compareRewritten(t *testing.T, servers [2]*configured) {
	var heads, tails [2][]string
	for i, s := range servers {
		for _, set := range [][]string{
			{"timeout", "0", "maxclients", "60"},
			{"client-query-buffer-limit", "3mb", "notify-keyspace-events", "KEA", "slowlog-max-len", "5"},
			{"hz", "30", "acl-pubsub-default", "allchannels", "maxmemory-clients", "5%", "loglevel", "warning"},
		} {
			if reply := s.do(t, append([]string{"CONFIG", "SET"}, set...)...); reply != "+OK\r\n" {
				t.Fatalf("%s: CONFIG SET %q: %q", s.name, set, reply)
			}
		}
		for range 2 { // the second one changes nothing any more
			if reply := s.do(t, "CONFIG", "REWRITE"); reply != "+OK\r\n" {
				t.Fatalf("%s: CONFIG REWRITE: %q", s.name, reply)
			}
		}
		text, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		heads[i], tails[i] = comparable(string(text))
	}
	if !slices.Equal(heads[0], heads[1]) {
		t.Errorf("the file's own lines\nredis-server %q\nbroker       %q", heads[0], heads[1])
	}
	if !slices.Equal(tails[0], tails[1]) {
		t.Errorf("the lines that were added\nredis-server %q\nbroker       %q", tails[0], tails[1])
	}
}

// comparable returns the lines of a rewritten file before its signature, as
// they stand, and behind it, sorted: their order is not the same even between
// versions of redis-server.
func comparable(text string) (head, tail []string) {
	text = strings.ReplaceAll(text, " sanitize-payload", "") // shown from Redis 7.2 on
	text = strings.ReplaceAll(text, `"`, "")                 // redis-server quotes more than it has to
	before, after, _ := strings.Cut(text, "# Generated by CONFIG REWRITE\n")
	keep := func(text string) []string {
		return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
			name, _, _ := strings.Cut(line, " ")
			switch name {
			case "", "unixsocket", "dir", "latency-tracking-info-percentiles": // written whether they changed or not
				return true
			}
			return false
		})
	}
	head, tail = keep(before), keep(after)
	slices.Sort(tail)
	return head, tail
}

func compareRewriteErrors(t *testing.T, servers [2]*configured) {
	var got [2]string
	for i, s := range servers {
		if err := os.RemoveAll(filepath.Dir(s.file)); err != nil {
			t.Fatal(err)
		}
		got[i] = s.do(t, "CONFIG", "REWRITE") + s.do(t, "CONFIG", "REWRITE", "x")
	}
	if got[0] != got[1] {
		t.Errorf("redis-server %q\nbroker       %q", got[0], got[1])
	}
}
