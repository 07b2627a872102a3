package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"broker/internal/config"
	"broker/shard"
)

// set sends CONFIG SET, with "name value" parameters separated by '|', and
// expects this line.
func (c *client) set(params, want string) {
	c.t.Helper()
	c.array("CONFIG SET "+strings.ReplaceAll(params, "|", " "), split(params), want)
}

func split(params string) []string {
	words := []string{"CONFIG", "SET"}
	for part := range strings.SplitSeq(params, "|") {
		name, value, _ := strings.Cut(part, " ")
		words = append(words, name, value)
	}
	return words
}

// array sends words as they are and expects one line.
func (c *client) array(what string, words []string, want string) {
	c.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := io.WriteString(c, b.String()); err != nil {
		c.t.Fatal(err)
	}
	got, err := c.r.ReadString('\n')
	if got = strings.TrimRight(got, "\r\n"); got != want {
		c.t.Fatalf("%s: %q (%v), want %q", what, got, err, want)
	}
}

// value returns what CONFIG GET says.
func (c *client) value(name string) string {
	c.t.Helper()
	c.do("CONFIG GET "+name, "*2", "$"+strconv.Itoa(len(name)), name)
	head, err := c.r.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(head[1:]))
	text := make([]byte, n+2)
	if _, err := io.ReadFull(c.r, text); err != nil {
		c.t.Fatal(err)
	}
	return string(text[:n])
}

// refuses reports whether nobody listens at the address.
func refuses(t *testing.T, addr string) bool {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		conn.Close()
	}
	return err != nil
}

// freePort returns a port that nobody had a moment ago, on any address.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// busyPort returns a port on which somebody else listens.
func busyPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func failed(name, why string) string {
	return "-ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + why
}

func TestConfigSet_IsSeenAndInForceOnEveryLoop(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { c.IO, c.Shards = io, 3 })
		c := dial(t, b.Addrs()[0])
		others := []*client{dial(t, b.Addrs()[0]), dial(t, b.Addrs()[0]), dial(t, b.Addrs()[0])}
		for _, o := range others {
			o.do("PING", "+PONG")
		}
		c.set("proto-max-bulk-len 1mb|client-query-buffer-limit 2mb|hz 11", "+OK")
		if got := c.value("proto-max-bulk-len") + " " + c.value("client-query-buffer-limit") + " " + c.value("hz"); got != "1048576 2097152 11" {
			t.Errorf("CONFIG GET says %q", got)
		}
		// The reply has come, so no loop takes a longer argument any more.
		for _, o := range others {
			o.do("*2\r\n$4\r\nECHO\r\n$1048577", "-ERR Protocol error: invalid bulk length")
		}
	})
}

func TestConfigSet_Fails(t *testing.T) {
	busy := busyPort(t)
	b := start(t, nil)
	c := dial(t, b.Addrs()[0])
	all := c.value("port") + c.value("bind") + c.value("maxclients") + c.value("timeout")
	most := maxDescriptorClients(2)
	for params, want := range map[string]string{
		"nosuch 1":            "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'",
		"timeout 1|shards 3":  failed("shards", "can't set immutable config"),
		"timeout x":           failed("timeout", "argument couldn't be parsed into an integer"),
		"timeout 1|timeout 2": failed("timeout", "duplicate parameter"),
		"port 0":              failed("port", "configured to not listen anywhere (see bind, port, tls-port and unixsocket)"),

		fmt.Sprintf("timeout 1|port %d", busy):                failed("port", "Unable to listen on this port. Check server logs."),
		fmt.Sprintf("Port %d|bind 127.0.0.1|timeout 9", busy): failed("port", "Unable to listen on this port. Check server logs."),
		fmt.Sprintf("bind 127.0.0.1 192.0.2.1|port %d", busy): failed("bind", "Failed to bind to specified addresses."),
		"bind 192.0.2.1":                                          failed("bind", "Failed to bind to specified addresses."),
		"bind -192.0.2.1":                                         failed("bind", "Failed to bind to specified addresses."),
		"timeout 1|tls-port 1":                                    failed("tls-port", "Unable to update TLS configuration. Check server logs."),
		"tls-cert-file /x|tls-port 1":                             failed("tls-cert-file", "Unable to update TLS configuration. Check server logs."),
		"maxclients 4294967295":                                   failed("maxclients", fmt.Sprintf("The operating system is not able to handle the specified number of clients, try with %d", most)),
		fmt.Sprintf("maxclients 4294967295|port %d", busy):        failed("maxclients", fmt.Sprintf("The operating system is not able to handle the specified number of clients, try with %d", most)),
		fmt.Sprintf("port %d|maxclients 4294967295", busy):        failed("port", "Unable to listen on this port. Check server logs."),
		fmt.Sprintf("port %d|maxclients 4294967295", freePort(t)): failed("maxclients", fmt.Sprintf("The operating system is not able to handle the specified number of clients, try with %d", most)),
	} {
		c.set(params, want)
		if got := c.value("port") + c.value("bind") + c.value("maxclients") + c.value("timeout"); got != all {
			t.Errorf("after %s the configuration is %q, was %q", params, got, all)
		}
		dial(t, b.Addrs()[0]).do("PING", "+PONG")
	}
	c.do("CONFIG SET timeout", "-ERR wrong number of arguments for 'config|set' command")
	c.do("CONFIG SET timeout 1 port", "-ERR syntax error")
	if n := len(b.Addrs()); n != 1 {
		t.Errorf("%d listeners are left: %v", n, b.Addrs())
	}
}

func TestConfigSet_Port(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { c.IO = io })
		was := b.Addrs()[0].String()
		c := dial(t, b.Addrs()[0])
		c.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")
		port := freePort(t)
		admin := dial(t, b.Addrs()[0])
		admin.set(fmt.Sprintf("port %d", port), "+OK")
		if !refuses(t, was) {
			t.Errorf("%s still accepts connections", was)
		}
		if got := b.Addrs()[0].String(); got != fmt.Sprintf("127.0.0.1:%d", port) {
			t.Errorf("listening on %s", got)
		}
		p := dial(t, b.Addrs()[0])
		p.do("PUBLISH news hello", ":1")
		c.expect("*3", "$7", "message", "$4", "news", "$5", "hello")
		if got := p.value("port"); got != strconv.Itoa(port) {
			t.Errorf("CONFIG GET port says %s", got)
		}
	})
}

func TestConfigSet_PortCloses(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	b := start(t, func(c *config.Config) { c.UnixSocket = socket })
	was := b.Addrs()[0].String()
	c := dial(t, b.Addrs()[1])
	c.set("port 0", "+OK")
	if !refuses(t, was) || len(b.Addrs()) != 1 {
		t.Errorf("listening on %v", b.Addrs())
	}
	c.set("port "+strconv.Itoa(freePort(t)), "+OK")
	dial(t, b.Addrs()[0]).do("PING", "+PONG")
	c.set("bind ", "+OK")
	if len(b.Addrs()) != 1 {
		t.Errorf("listening on %v", b.Addrs())
	}
	dial(t, b.Addrs()[0]).do("PING", "+PONG")
}

// Addresses that are listened on already stay open all the time; one that
// covers another takes its place.
func TestConfigSet_Bind(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { c.IO, c.Port = io, freePort(t) })
		first := b.current.Load().listeners[0]
		c := dial(t, b.Addrs()[0])

		c.set("bind 127.0.0.1 127.0.0.2 -192.0.2.1", "+OK")
		if got := b.current.Load().listeners; len(got) != 2 || got[0] != first {
			t.Errorf("listeners %v, want the first one kept", b.Addrs())
		}
		second := b.Addrs()[1]
		dial(t, second).do("PING", "+PONG")

		c.set("bind *", "+OK")
		for _, host := range []string{"127.0.0.1", "127.0.0.3"} {
			conn, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(b.tcpPort())))
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
		}
		c.set("bind 127.0.0.2", "+OK")
		if !refuses(t, first.Addr().String()) || second.String() != b.Addrs()[0].String() {
			t.Errorf("listening on %v", b.Addrs())
		}
		dial(t, second).do("PING", "+PONG")
		c.do("PING", "+PONG")
	})
}

// A change that has closed a listener to make room and then fails opens it
// again.
func TestConfigSet_FailureReopensWhatWasInTheWay(t *testing.T) {
	b := start(t, nil)
	c := dial(t, b.Addrs()[0])
	addr := b.Addrs()[0]
	c.set("bind * 192.0.2.1", failed("bind", "Failed to bind to specified addresses."))
	if got := b.Addrs(); len(got) != 1 || got[0].String() != addr.String() {
		t.Fatalf("listening on %v, want %v", got, addr)
	}
	dial(t, addr).do("PING", "+PONG")
	if got := c.value("bind"); got != "127.0.0.1" {
		t.Errorf("bind is %q", got)
	}
}

// Clients connect all the time while the set of addresses changes around
// theirs: none is turned away.
func TestConfigSet_ListenersThatStayLoseNobody(t *testing.T) {
	b := start(t, func(c *config.Config) { c.IO, c.Port = config.DriverNet, freePort(t) })
	addr := b.Addrs()[0]
	stop := make(chan struct{})
	var served int
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			conn, err := net.Dial("tcp", addr.String())
			if err != nil {
				t.Error(err)
				return
			}
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			io.WriteString(conn, "PING\r\n")
			if line, err := bufio.NewReader(conn).ReadString('\n'); line != "+PONG\r\n" {
				t.Errorf("%q, %v", line, err)
			}
			conn.Close()
			served++
		}
	})
	c := dial(t, addr)
	for range 20 {
		c.set("bind 127.0.0.1 127.0.0.2", "+OK")
		c.set("bind 127.0.0.1|timeout 0|maxclients 500", "+OK")
	}
	close(stop)
	clients.Wait()
	if served == 0 {
		t.Error("no client connected meanwhile")
	}
}

func TestConfigSet_MaxClients(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { c.IO = io })
		c := dial(t, b.Addrs()[0])
		c.set("maxclients 1", "+OK")
		dial(t, b.Addrs()[0]).expect("-ERR max number of clients reached")
		c.set("maxclients 2", "+OK")
		dial(t, b.Addrs()[0]).do("PING", "+PONG")
	})
}

func TestStart_LowersMaxClientsToTheDescriptors(t *testing.T) {
	b := start(t, func(c *config.Config) { c.MaxClients = 4294967295 })
	if got, want := dial(t, b.Addrs()[0]).value("maxclients"), strconv.Itoa(maxDescriptorClients(2)); got != want {
		t.Errorf("maxclients is %s, want %s", got, want)
	}
}

// Changes from several connections are made one after the other: what is in
// force in the end is one of them, the same on every loop.
func TestConfigSet_OneAtATime(t *testing.T) {
	b := start(t, func(c *config.Config) { c.Shards = 3 })
	var admins sync.WaitGroup
	for i := range 6 {
		c := dial(t, b.Addrs()[0])
		admins.Go(func() {
			for j := range 20 {
				n := 1<<20 + 100*i + j
				c.set(fmt.Sprintf("proto-max-bulk-len %d|client-query-buffer-limit %d", n, n), "+OK")
			}
		})
	}
	admins.Wait()
	cfg := b.current.Load().cfg
	if cfg.BulkLimitBytes != cfg.QueryLimitBytes {
		t.Errorf("limits of two changes: %d and %d", cfg.BulkLimitBytes, cfg.QueryLimitBytes)
	}
	var settings [3]int
	b.group.Each(func(l *shard.Loop) { settings[l.Shard()] = l.Settings().BulkBytes })
	for i, n := range settings {
		if int64(n) != cfg.BulkLimitBytes {
			t.Errorf("shard %d keeps to %d, the configuration says %d", i, n, cfg.BulkLimitBytes)
		}
	}
}

// The change is made on every loop also when who asked for it is gone before.
func TestConfigSet_ClientGoneMeanwhile(t *testing.T) {
	b := start(t, func(c *config.Config) { c.Shards = 3 })
	end, err := b.begin()
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(end)
	defer end()
	c := dial(t, b.Addrs()[0])
	c.do("PING", "+PONG")
	io.WriteString(c, "CONFIG SET proto-max-bulk-len 1mb\r\n")
	until(t, func() bool { return suspended(b) == 1 })
	c.Conn.(*net.TCPConn).SetLinger(0) // a reset, which ends a session at once
	c.Close()
	until(t, func() bool { return b.group.Sessions() == 0 })
	end()
	until(t, func() bool {
		var late atomic.Int64
		b.group.Each(func(l *shard.Loop) {
			if l.Settings().BulkBytes != 1<<20 {
				late.Add(1)
			}
		})
		return late.Load() == 0
	})
}

// until asks again until the answer is yes. What is asked waits for the loops.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("does not come")
		}
	}
}

// suspended counts the sessions whose command is not finished.
func suspended(b *Broker) int64 {
	var n atomic.Int64
	b.group.Each(func(l *shard.Loop) {
		for s := range l.Sessions {
			if s.Suspended() {
				n.Add(1)
			}
		}
	})
	return n.Load()
}

func TestConfigSet_InTransaction(t *testing.T) {
	b := start(t, nil)
	c := dial(t, b.Addrs()[0])
	c.do("MULTI", "+OK")
	c.do("CONFIG SET timeout 7", "+QUEUED")
	c.do("CONFIG SET nosuch 7", "+QUEUED")
	c.do("CONFIG SET maxclients 77", "+QUEUED")
	c.do("EXEC", "*3", "+OK", "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'", "+OK")
	if got := c.value("timeout") + " " + c.value("maxclients"); got != "7 77" {
		t.Errorf("the values are %q", got)
	}
}

func TestOnChange_IsToldNowAndAfterEachChange(t *testing.T) {
	b := start(t, nil)
	var mu sync.Mutex
	var told []bool
	b.OnChange(func(c *config.Config) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, c.ProtectedMode)
	})
	c := dial(t, b.Addrs()[0])
	c.set("protected-mode no", "+OK")
	c.set("protected-mode maybe", failed("protected-mode", "argument must be 'yes' or 'no'"))
	c.set("protected-mode yes", "+OK")
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(told) != "[true false true]" {
		t.Errorf("told %v", told)
	}
}

// startWithFile runs a broker that was configured by a file.
func startWithFile(t *testing.T, text string) (*Broker, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "b.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	loaded.Port = config.AnyPort
	return start(t, func(c *config.Config) { *c = loaded }), path
}

func TestConfigRewrite(t *testing.T) {
	b, path := startWithFile(t, "# mine\nbind 127.0.0.1\ntimeout 5\n")
	c := dial(t, b.Addrs()[0])
	c.set("timeout 6|maxclients 77|hz 9", "+OK")
	c.do("CONFIG REWRITE", "+OK")
	text, err := os.ReadFile(path)
	want := "# mine\nbind 127.0.0.1\ntimeout 6\n\n# Generated by CONFIG REWRITE\nmaxclients 77\nuser default on nopass sanitize-payload ~* &* +@all\nhz 9\n"
	if string(text) != want {
		t.Errorf("the file is %q (%v)\nwant %q", text, err, want)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	c.do("CONFIG REWRITE", "-ERR Rewriting config file: Invalid argument")
	c.do("CONFIG REWRITE x", "-ERR wrong number of arguments for 'config|rewrite' command")
}

func TestConfigRewrite_WithoutAFile(t *testing.T) {
	b := start(t, nil)
	dial(t, b.Addrs()[0]).do("CONFIG REWRITE", "-ERR The server is running without a config file")
}

// No change begins once the broker shuts down, and Shutdown waits for one that
// has begun.
func TestShutdown_EndsChanges(t *testing.T) {
	cfg := config.Default()
	cfg.Bind, cfg.Port, cfg.Shards = []string{"127.0.0.1"}, config.AnyPort, 2
	b, err := Start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	end, err := b.begin()
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, b.Addrs()[0])
	down := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		down <- b.Shutdown(ctx)
	}()
	<-b.stopping
	if err := b.setParameters([][2]string{{"timeout", "1"}}); !errors.Is(err, errStopping) {
		t.Errorf("CONFIG SET during the shutdown: %v, want %v", err, errStopping)
	}
	if err := b.rewriteParameters(); !errors.Is(err, errStopping) {
		t.Errorf("CONFIG REWRITE during the shutdown: %v, want %v", err, errStopping)
	}
	for range 200 {
		c.do("PING", "+PONG") // no client is sent away before the change has ended
	}
	end()
	if err := <-down; err != nil {
		t.Error(err)
	}
}

func TestCgroupLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none":    {nil, 1<<63 - 1},
		"v2 root": {map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "1000\n"}, 1000},
		"v2 max":  {map[string]string{"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n"}, 1<<63 - 1},
		"v2 above": {map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "3000\n",
			"/sys/fs/cgroup/a/memory.max": "2000\n"}, 2000},
		"v2 outside": {map[string]string{"/proc/self/cgroup": "0::/../../x\n", "/sys/fs/cgroup/memory.max": "1000\n"}, 1000},
		"v1": {map[string]string{"/proc/self/cgroup": "5:cpu:/a\n4:memory:/a\n", "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "500\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 500},
	} {
		if got := cgroupLimit(func(name string) string { return tc.files[name] }); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestMachineMemory(t *testing.T) {
	if got := machineMemory("MemTotal:        2048 kB\nMemFree: 1 kB\n"); got != 2<<20 {
		t.Errorf("%d, want %d", got, 2<<20)
	}
	if got := machineMemory("nonsense"); got != 1<<63-1 {
		t.Errorf("%d for nonsense", got)
	}
	if got := availableMemory(); got < 1<<20 {
		t.Errorf("this process may use %d bytes", got)
	}
}
