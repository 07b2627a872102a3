package broker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"broker/internal/config"
	"broker/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a broker on a port of its own until the test ends.
func start(t *testing.T, change func(*config.Config)) *Broker {
	t.Helper()
	cfg := config.Default()
	cfg.Bind = []string{"127.0.0.1"}
	cfg.Port = config.AnyPort
	cfg.Shards = 2
	if change != nil {
		change(&cfg)
	}
	b, err := Start(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return b
}

type client struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr net.Addr) *client {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{t, c, bufio.NewReader(c)}
}

// do sends an inline command and expects these lines.
func (c *client) do(command string, lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c, command+"\r\n"); err != nil {
		c.t.Fatal(err)
	}
	c.expect(lines...)
}

func (c *client) expect(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		got, err := c.r.ReadString('\n')
		if strings.TrimRight(got, "\r\n") != want {
			c.t.Fatalf("got %q (%v), want %q", got, err, want)
		}
	}
}

func drivers(t *testing.T, f func(t *testing.T, io config.Driver)) {
	for _, d := range []config.Driver{config.DriverEpoll, config.DriverNet} {
		t.Run(string(d), func(t *testing.T) { f(t, d) })
	}
}

func TestBroker_PublishesFromOneConnectionToAnother(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { c.IO = io })
		s, p := dial(t, b.Addrs()[0]), dial(t, b.Addrs()[0])
		s.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")
		p.do("PUBLISH news hello", ":1")
		s.expect("*3", "$7", "message", "$4", "news", "$5", "hello")
	})
}

func TestBroker_RefusesMoreThanMaxClients(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { c.IO, c.MaxClients = io, 3 })
		var held []*client
		for range 3 {
			c := dial(t, b.Addrs()[0])
			c.do("PING", "+PONG")
			held = append(held, c)
		}
		extra := dial(t, b.Addrs()[0])
		extra.expect("-ERR max number of clients reached")
		if _, err := extra.r.ReadByte(); err == nil {
			t.Error("the connection that is too many stays open")
		}
		if n := b.rejected.Load(); n != 1 {
			t.Errorf("%d rejections are counted, want 1", n)
		}
		held[0].do("QUIT", "+OK")
		held[0].expect("") // closed; counted until it is torn down a moment later
		for end := time.Now().Add(20 * time.Second); ; {
			c := dial(t, b.Addrs()[0])
			if _, err := fmt.Fprint(c, "PING\r\n"); err == nil {
				if line, _ := c.r.ReadString('\n'); line == "+PONG\r\n" {
					break
				}
			}
			if time.Now().After(end) {
				t.Fatal("nobody is let in after a client has left")
			}
		}
	})
}

// TestBroker_ProtectedModeTurnsOtherMachinesAway asks for each kind of address
// what a connection from it is told; a real one would need another machine.
func TestBroker_ProtectedModeTurnsOtherMachinesAway(t *testing.T) {
	b := start(t, nil)
	open := start(t, func(c *config.Config) { c.ProtectedMode = false })
	locked := start(t, func(c *config.Config) { c.RequirePass = "secret" })
	for _, tc := range []struct {
		from    string
		unix    bool
		refused bool
	}{
		{"127.0.0.1:5", false, false}, {"127.8.9.10:5", false, false}, {"[::1]:5", false, false},
		{"10.0.0.7:5", false, true}, {"[2001:db8::1]:5", false, true}, {"0.0.0.0:0", true, false},
	} {
		c := shard.Conn{Remote: netip.MustParseAddrPort(tc.from), Unix: tc.unix}
		if got := strings.HasPrefix(b.refusal(c), "-DENIED Redis is running in protected mode"); got != tc.refused {
			t.Errorf("%s (unix %v): refused %v, want %v", tc.from, tc.unix, got, tc.refused)
		}
		if why := open.refusal(c); why != "" {
			t.Errorf("%s without protected mode: %q", tc.from, why)
		}
		if why := locked.refusal(c); why != "" {
			t.Errorf("%s with a password: %q", tc.from, why)
		}
	}
}

func TestBroker_UnixSocketHasItsPermissionsFromTheStart(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		path := filepath.Join(t.TempDir(), "s")
		// What an earlier run left behind is replaced.
		stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
		if err != nil {
			t.Fatal(err)
		}
		stale.SetUnlinkOnClose(false)
		stale.Close()

		modes := make(chan os.FileMode, 1)
		stop := make(chan struct{})
		go func() { // looks as often as it can while the broker starts
			worst := os.FileMode(0)
			for {
				// A connection that is let in was let in under these permissions:
				// nothing changes them afterwards.
				if c, err := net.Dial("unix", path); err == nil {
					if info, err := os.Lstat(path); err == nil {
						worst |= info.Mode().Perm()
					}
					c.Close()
				}
				select {
				case <-stop:
					modes <- worst
					return
				default:
				}
			}
		}()
		b := start(t, func(c *config.Config) { c.IO, c.UnixSocket, c.UnixSocketPerm, c.Port = io, path, 0o600, 0 })
		c := dial(t, b.Addrs()[0])
		c.do("PING", "+PONG")
		close(stop)
		if worst := <-modes; worst&^0o600 != 0 {
			t.Errorf("the socket could be reached with mode %o", worst)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
		}
	})
}

func TestBroker_OtherFilesAreNotReplacedByASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Port, cfg.UnixSocket = 0, path
	if b, err := Start(cfg, slog.New(slog.DiscardHandler)); err == nil {
		_ = b.Shutdown(t.Context())
		t.Error("a file that is no socket was replaced")
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "x" {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

func TestBroker_BindAddresses(t *testing.T) {
	b := start(t, func(c *config.Config) { c.Bind = []string{"127.0.0.1", "-192.0.2.77", "-::1"} })
	if n := len(b.Addrs()); n != 1 && n != 2 {
		t.Errorf("listening on %v", b.Addrs())
	}
	port := b.tcpPort()
	for _, a := range b.Addrs() {
		if a.(*net.TCPAddr).Port != port {
			t.Errorf("%v: not on port %d", a, port)
		}
	}

	cfg := config.Default()
	cfg.Bind, cfg.Port = []string{"127.0.0.1"}, port
	_, err := Start(cfg, slog.New(slog.DiscardHandler))
	want := fmt.Sprintf("Failed listening on port %d: Could not create server TCP listening socket 127.0.0.1:%d: bind: address already in use", port, port)
	if err == nil || err.Error() != want {
		t.Errorf("a busy port: %v\nwant %s", err, want)
	}

	cfg.Bind, cfg.Port = []string{"192.0.2.77"}, config.AnyPort
	if _, err := Start(cfg, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("an address that this machine does not have was bound")
	}
}

func TestBroker_ConfigGetTellsThePortInUse(t *testing.T) {
	b := start(t, nil)
	c := dial(t, b.Addrs()[0])
	port := strconv.Itoa(b.tcpPort())
	c.do("CONFIG GET port", "*2", "$4", "port", "$"+strconv.Itoa(len(port)), port)
}

// The parameters reach the loops, at the start and by CONFIG SET.
func TestBroker_SlowPolicy(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { c.IO, c.SlowPolicy = io, config.SlowDropNewest })
		c := dial(t, b.Addrs()[0])
		describe := func(policy, limit string) {
			t.Helper()
			c.do("CLIENT SLOWPOLICY", "*10", "$6", "policy", "$"+strconv.Itoa(len(policy)), policy, "$5", "limit", ":"+limit,
				"$3", "own", ":0", "$6", "notify", ":0", "$7", "dropped", ":0")
		}
		describe("drop-newest", "1048576")
		c.do(`CONFIG SET slow-subscriber-policy conflate slow-subscriber-limit 5kb slow-subscriber-channel-policy "a* drop-oldest 10"`, "+OK")
		describe("conflate", "5120")
		c.do("ACL SETUSER bob on nopass +@all allchannels", "+OK")
		c.do(`CONFIG SET slow-subscriber-user-policy "bob drop-newest 7 default drop-oldest 9"`, "+OK")
		describe("drop-oldest", "9")
		c.do("AUTH bob x", "+OK")
		c.do("CLIENT SLOWPOLICY", "*10", "$6", "policy", "$11", "drop-newest", "$5", "limit", ":7", "$3", "own", ":0", "$6", "notify", ":0", "$7", "dropped", ":0")
		for _, p := range b.current.Load().settings.Slow.Channels {
			if p.Pattern != "a*" || p.Kind != shard.SlowDropOldest || p.LimitBytes != 10 {
				t.Errorf("channel policy %+v", p)
			}
		}
	})
}

func TestBroker_SubscriptionLimits(t *testing.T) {
	b := start(t, func(c *config.Config) { c.MaxSubscriptions = 1 })
	c := dial(t, b.Addrs()[0])
	c.do("SUBSCRIBE a b", "-ERR max number of subscriptions per client reached")
	c.do("CONFIG SET max-subscriptions-per-client 2 max-pattern-length 3", "+OK")
	c.do("PSUBSCRIBE long", "-ERR pattern is longer than max-pattern-length")
	c.do("SUBSCRIBE a b", "*3", "$9", "subscribe", "$1", "a", ":1", "*3", "$9", "subscribe", "$1", "b", ":2")
}
