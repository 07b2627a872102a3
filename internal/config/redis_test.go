package config

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// redisServer returns the path of a real server to compare with.
func redisServer(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("redis-server is not installed: apt-get install redis-server")
		}
		t.Skip("optional: redis-server is not installed (apt-get install redis-server)")
	}
	return path
}

// The same values are refused with the same texts as by the real server.
func TestLoad_ErrorTextsAreThoseOfRedis(t *testing.T) {
	server := redisServer(t)
	cases := []string{ // arguments separated by '|'
		"--port", "--port|", "--port|x", "--port|+7", "--port|007", "--port|0x10", "--port|70000", "--port|-1", "--port|1|2",
		"--tcp-backlog|-1", "--tcp-backlog|2147483648",
		"--timeout|-1", "--acllog-max-len|-1", "--acllog-max-len|x", "--acl-pubsub-default|x", "--enable-debug-command|x",
		"--slowlog-log-slower-than|-2", "--slowlog-max-len|-1", "--maxmemory-clients|101%", "--maxmemory-clients|-1",
		"--latency-tracking-info-percentiles|x", "--latency-tracking-info-percentiles|101", "--notify-keyspace-events|KEAq",
		"--tls-auth-clients|x", "--tls-port|65536",
		"--unixsocketperm|999", "--unixsocketperm|77777", "--unixsocketperm|x",
		"--maxclients|0", "--maxclients|4294967296", "--maxclients|", "--maxclients|1 2",
		"--databases|0", "--databases|-1", "--tcp-keepalive|-1", "--shutdown-timeout|-1", "--shutdown-timeout|99999999999",
		"--client-query-buffer-limit|1", "--client-query-buffer-limit|x", "--client-query-buffer-limit|1tb",
		"--client-query-buffer-limit|2.5mb", "--client-query-buffer-limit|-5", "--client-query-buffer-limit|1 mb",
		"--proto-max-bulk-len|1023kb", "--proto-max-bulk-len|5%",
		"--client-output-buffer-limit|pubsub|1|2", "--client-output-buffer-limit|pubsub 1 2",
		"--client-output-buffer-limit|foo|1|2|3", "--client-output-buffer-limit|master|1|2|3",
		"--client-output-buffer-limit|pubsub|1x|2|3", "--client-output-buffer-limit|pubsub|1|-2|3",
		"--client-output-buffer-limit|pubsub|1|2|-3", "--client-output-buffer-limit|pubsub|1|2|x",
		"--client-output-buffer-limit|pubsub|1|2|3|normal",
	}
	for _, joined := range cases {
		t.Run(joined, func(t *testing.T) {
			args := strings.Split(joined, "|")
			_, err := Load(args)
			if err == nil {
				t.Fatal("accepted")
			}
			for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
				err = inner
			}
			if want := redisComplaint(t, server, args); err.Error() != want {
				t.Errorf("error %q, redis-server says %q", err, want)
			}
		})
	}
}

// redisComplaint starts the server with args it refuses and returns the last
// line it prints. Without a port it ends by itself even if it accepts them.
func redisComplaint(t *testing.T, server string, args []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, server, append([]string{"--port", "0"}, args...)...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("redis-server: %v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// The same command line gives the same CONFIG GET as on the real server.
func TestGet_ValuesAreThoseOfRedis(t *testing.T) {
	server := redisServer(t)
	ours := map[string]bool{ // parameters whose names, words or defaults are our own
		"shards": true, "io": true, "unixsocket": true, "log-format": true,
		"max-subscriptions-per-client": true, "max-pattern-length": true,
		"spin": true, "slow-subscriber-policy": true, "slow-subscriber-limit": true, "slow-subscriber-channel-policy": true, "slow-subscriber-user-policy": true, "auth-timeout": true,
		"admin": true, "admin-auth": true, "admin-pprof": true, "admin-top-channels": true,
	}
	cases := map[string][]string{
		"defaults": {"--bind", "127.0.0.1", "-::1", "--shutdown-timeout", "3"},
		"all at once": {
			"--bind", "127.0.0.1 -::1", "--tcp-backlog", "7", "--unixsocketperm", "0770", "--MaxClients", "20",
			"--client-output-buffer-limit", "pubsub", "1mb", "2K", "3", "normal", "4g", "5Kb", "+6",
			"--client-output-buffer-limit", "replica 7b 8m 009",
			"--client-query-buffer-limit", "0002Mb", "--proto-max-bulk-len", "1g",
			"--databases", "3", "--tcp-keepalive", "0", "--tcp-keepalive", "1",
			"--shutdown-timeout", "2147483647", "--loglevel", "Verbose",
		},
		"quoted limits":   {"--bind", "127.0.0.1", "--client-output-buffer-limit", "pubsub 32mb 8mb 60", "--shutdown-timeout", "0"},
		"repeated class":  {"--bind", "127.0.0.1", "--client-output-buffer-limit", "pubsub", "1", "2", "3", "pubsub", "4", "5", "6", "--shutdown-timeout", "0"},
		"largest of each": {"--bind", "127.0.0.1", "--proto-max-bulk-len", "9223372036854775807", "--tcp-keepalive", "2147483647", "--unixsocketperm", "777", "--shutdown-timeout", "0"},
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			args := append([]string{"--port", "0", "--unixsocket", socket}, args...)
			c := mustLoad(t, args...)
			var names []string
			want := map[string]string{}
			for _, p := range c.Get("*") {
				if !ours[p.Name] {
					names = append(names, p.Name)
					want[p.Name] = p.Value
				}
			}
			got := redisConfig(t, server, args, socket, names)
			for _, name := range names {
				if got[name] != want[name] {
					t.Errorf("%s is %q, on redis-server %q", name, want[name], got[name])
				}
			}
		})
	}
}

// redisConfig starts the server with args, asks it for the named parameters
// and stops it again.
func redisConfig(t *testing.T, server string, args []string, socket string, names []string) map[string]string {
	t.Helper()
	values := map[string]string{}
	withRedis(t, server, args, socket, func(conn *bufio.ReadWriter) {
		for _, name := range names {
			fmt.Fprintf(conn, "CONFIG GET %s\r\n", name)
			conn.Flush()
			if n := readLength(t, conn.Reader, '*'); n != 2 {
				t.Errorf("%s: redis-server answers %d strings, want its name and value", name, n)
				for range n {
					readBulk(t, conn.Reader)
				}
				continue
			}
			readBulk(t, conn.Reader)
			values[name] = readBulk(t, conn.Reader)
		}
	})
	return values
}

// withRedis starts the server with args, which open a Unix socket at the given
// path, connects to it, calls use and stops the server again.
func withRedis(t *testing.T, server string, args []string, socket string, use func(*bufio.ReadWriter)) {
	t.Helper()
	cmd := exec.Command(server, slices.Concat(args, []string{"--save", ""})...)
	cmd.Dir = filepath.Dir(socket)
	stdout, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		stdout.Close()
	}()
	stdout.SetReadDeadline(time.Now().Add(30 * time.Second))
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready to accept connections at "+socket) {
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatalf("%v; last line of redis-server: %s", err, lines.Text())
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	use(bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)))
}

func readBulk(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	text := make([]byte, readLength(t, r, '$'))
	for i := range text {
		b, err := r.ReadByte()
		if err != nil {
			t.Fatal(err)
		}
		text[i] = b
	}
	r.Discard(len("\r\n"))
	return string(text)
}

func readLength(t *testing.T, r *bufio.Reader, kind byte) int {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil || line[0] != kind {
		t.Fatalf("answer %q (%v), want one of type %c", line, err, kind)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || n < 0 {
		t.Fatalf("length %q", line)
	}
	return n
}
