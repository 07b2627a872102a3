package command

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"broker/shard"
)

// withRuntime configures a server before anybody connects.
func withRuntime(srv *server, r Runtime) *server {
	if r.ACLLogLen == 0 {
		r.ACLLogLen = 128
	}
	srv.d.Configure(r)
	return srv
}

// setUser creates a user from words.
func (srv *server) setUser(words string) {
	srv.t.Helper()
	list := strings.Fields(words)
	if _, err := srv.d.Users().SetUser(list[0], list[1:]); err != nil {
		srv.t.Fatal(err)
	}
}

// login dials and logs in with RESP3.
func (srv *server) login(user, password string) *client {
	srv.t.Helper()
	c := srv.dial()
	if got := c.do("HELLO", "3", "AUTH", user, password); got[0] != '%' {
		srv.t.Fatalf("HELLO AUTH %s: %q", user, got)
	}
	return c
}

// dialFrom connects a client with an address.
func (srv *server) dialFrom(addr string) *client {
	srv.t.Helper()
	ours, theirs := net.Pipe()
	srv.group.Adopt(shard.Conn{Net: theirs, Remote: netip.MustParseAddrPort(addr)})
	c := newClient(srv.t, ours)
	srv.t.Cleanup(func() { _ = ours.Close() })
	return c
}

const (
	ok        = "+OK\r\n"
	wrongPass = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	noAuth    = "-NOAUTH Authentication required.\r\n"
	helloAuth = "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time\r\n"
)

func noPerm(user, command string) string {
	return "-NOPERM User " + user + " has no permissions to run the '" + command + "' command\r\n"
}

const noChannel = "-NOPERM No permissions to access a channel\r\n"

func TestAuth_WithoutPasswords(t *testing.T) {
	srv := startServer(t, 1)
	srv.setUser("bob on >pw +@all &*")
	srv.setUser("off >pw")
	converse(t, srv.dial(), []turn{
		{"AUTH", e("wrong number of arguments for 'auth' command")},
		{"AUTH a b c", e("syntax error")},
		{"AUTH x", e("AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")},
		{"AUTH default anything", ok},
		{"AUTH nobody pw", wrongPass},
		{"AUTH off pw", wrongPass},
		{"AUTH bob wrong", wrongPass},
		{"ACL WHOAMI", bulk("default")},
		{"AUTH bob pw", ok},
		{"ACL WHOAMI", bulk("bob")},
		{"AUTH bob wrong", wrongPass}, // keeps the login
		{"ACL WHOAMI", bulk("bob")},
		{"RESET", "+RESET\r\n"},
		{"ACL WHOAMI", bulk("default")},
	})
}

// What 7.0.15 and 8.0 answer before a client has logged in, in the order in
// which the reasons count.
func TestAuth_BeforeLogin(t *testing.T) {
	srv := withRuntime(startServer(t, 1), Runtime{RequirePass: "secret"})
	c := srv.dial()
	converse(t, c, []turn{
		{"FOO bar", e("unknown command 'FOO', with args beginning with: 'bar' ")},
		{"PUBSUB FOO", e("unknown subcommand 'FOO'. Try PUBSUB HELP.")},
		{"PUBLISH x", e("wrong number of arguments for 'publish' command")},
		{"PING", noAuth},
		{"PUBLISH a b", noAuth},
		{"SUBSCRIBE a", noAuth},
		{"MULTI", noAuth},
		{"EXEC", noAuth},
		{"CLIENT REPLY OFF", noAuth},
		{"HELLO", helloAuth},
		{"HELLO 3", helloAuth},
		{"HELLO 4", "-NOPROTO unsupported protocol version\r\n"},
		{"HELLO 3 SETNAME x", helloAuth},
		{"HELLO 3 AUTH default wrong SETNAME x", wrongPass},
		{"AUTH wrong", wrongPass},
		{"RESET", "+RESET\r\n"},
		{"PING", noAuth},
		{"AUTH secret", ok},
		{"PING", "+PONG\r\n"},
		{"CLIENT GETNAME", "$-1\r\n"},
		{"RESET", "+RESET\r\n"},
		{"PING", noAuth},
	})
	if got := c.do("HELLO", "3", "AUTH", "default", "secret", "SETNAME", "me"); got[0] != '%' {
		t.Fatalf("HELLO: %q", got)
	}
	converse(t, c, []turn{{"CLIENT GETNAME", bulk("me")}, {"HELLO 2 AUTH default wrong SETNAME you", wrongPass}, {"CLIENT GETNAME", bulk("me")}})
	quitting := srv.dial()
	converse(t, quitting, []turn{{"QUIT", ok}})
	quitting.expectClosed()
}

// A client that has yet to log in may send small requests only.
func TestAuth_LimitsBeforeLogin(t *testing.T) {
	srv := withRuntime(startServer(t, 1), Runtime{RequirePass: "secret"})
	c := srv.dial()
	c.write("*11\r\n")
	if got := c.read(); got != "-ERR Protocol error: unauthenticated multibulk length\r\n" {
		t.Errorf("got %q", got)
	}
	c.expectClosed()
	in := srv.dial()
	converse(t, in, []turn{{"AUTH secret", ok}, {"MGET a b c d e f g h i j k", "*11\r\n" + strings.Repeat("$-1\r\n", 11)}, {"RESET", "+RESET\r\n"}})
	in.write("*11\r\n")
	if got := in.read(); got != "-ERR Protocol error: unauthenticated multibulk length\r\n" {
		t.Errorf("after RESET: %q", got)
	}
}

// Whoever is connected stays logged in when a password is set, and is let in
// when none is needed any more.
func TestAuth_PasswordChanges(t *testing.T) {
	srv := startServer(t, 2)
	early := srv.dial()
	early.do("PING")
	srv.d.Configure(Runtime{RequirePass: "one"})
	late := srv.dial()
	converse(t, early, []turn{{"PING", "+PONG\r\n"}})
	converse(t, late, []turn{{"PING", noAuth}, {"AUTH two", wrongPass}})
	srv.d.Configure(Runtime{RequirePass: "two", MaxSubscriptions: 5})
	converse(t, late, []turn{{"AUTH one", wrongPass}, {"AUTH two", ok}})
	waiting := srv.dial()
	converse(t, waiting, []turn{{"PING", noAuth}})
	srv.d.Configure(Runtime{MaxSubscriptions: 5})
	converse(t, waiting, []turn{{"PING", "+PONG\r\n"}, {"ACL WHOAMI", bulk("default")}})
	// What ACL SETUSER does to the default user outlives other changes.
	converse(t, early, []turn{{"ACL SETUSER default >three", ok}})
	srv.d.Configure(Runtime{MaxSubscriptions: 6})
	converse(t, srv.dial(), []turn{{"PING", noAuth}, {"AUTH three", ok}})
}

func TestAuth_InsideATransaction(t *testing.T) {
	srv := startServer(t, 1)
	srv.setUser("bob on >pw +ping +exec +acl|whoami")
	c := srv.dial()
	converse(t, c, []turn{
		{"MULTI", ok}, {"AUTH bob pw", "+QUEUED\r\n"}, {"PUBLISH a b", "+QUEUED\r\n"}, {"ACL WHOAMI", "+QUEUED\r\n"},
		{"EXEC", "*3\r\n" + ok + "-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
			"This command is no longer allowed for the following reason: no permission to execute the command or subcommand\r\n" + bulk("bob")},
		{"PUBLISH a b", noPerm("bob", "publish")},
	})
}

// TestAuth_GuessesAreSlowedDown: the first five failures are answered at once,
// then each later than the one before; another address does not wait.
func TestAuth_GuessesAreSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := startServer(t, 2)
		srv.setUser("bob on >pw +@all &*")
		attacker, other := srv.dialFrom("10.0.0.1:1000"), srv.dialFrom("10.0.0.2:1000")
		took := func(c *client, want string, words ...string) time.Duration {
			t.Helper()
			began := time.Now()
			if got := c.do(words...); got != want {
				t.Fatalf("%q: %q", words, got)
			}
			return time.Since(began).Round(time.Millisecond)
		}
		for i, want := range []time.Duration{0, 0, 0, 0, 0, 100, 200, 400, 800, 1600, 2000, 2000} {
			words := []string{"AUTH", "bob", fmt.Sprint(i)}
			if i%2 == 1 {
				words = []string{"HELLO", "2", "AUTH", "bob", fmt.Sprint(i)}
			}
			// A token is there again by the time that a delayed answer comes,
			// but for the first one, which waits for it.
			got := took(attacker, wrongPass, words...)
			if want *= time.Millisecond; got < want || got > want+time.Second/15+time.Millisecond {
				t.Errorf("failure %d took %v, want %v", i+1, got, want)
			}
		}
		if got := took(other, wrongPass, "AUTH", "bob", "x"); got != 0 {
			t.Errorf("a failure from another address took %v", got)
		}
		// Another connection from the same address waits as well; a success
		// resets that.
		same := srv.dialFrom("10.0.0.1:2000")
		if got := took(same, wrongPass, "AUTH", "bob", "x"); got != 2*time.Second {
			t.Errorf("a failure on another connection took %v", got)
		}
		if got := took(same, ok, "AUTH", "bob", "pw"); got != 0 {
			t.Errorf("a success took %v", got)
		}
		if got := took(attacker, wrongPass, "AUTH", "bob", "x"); got != 0 {
			t.Errorf("the first failure after a success took %v", got)
		}
		for range 6 {
			took(attacker, wrongPass, "AUTH", "bob", "x")
		}
		if err := attacker.conn.SetDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(quietPeriod + time.Second)
		if got := took(attacker, wrongPass, "AUTH", "bob", "x"); got != 0 {
			t.Errorf("the first failure after a quiet minute took %v", got)
		}
	})
}

// TestAuth_GuessRateIsBounded: a hundred connections from one address get no
// more than 20 passwords looked at in any second, whatever they do in between,
// and whoever knows a password elsewhere gets in at once.
func TestAuth_GuessRateIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := withRuntime(startServer(t, 2), Runtime{})
		srv.setUser("bob on >pw +@all &*")
		stop := make(chan struct{})
		done := make(chan struct{})
		const clients = 100
		for i := range clients {
			c := srv.dialFrom(fmt.Sprintf("10.0.0.1:%d", 1000+i))
			go func() {
				defer func() { done <- struct{}{} }()
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					password := "x"
					if i == 0 && n%3 == 0 {
						password = "pw" // a success resets the delay, not the rate
					}
					c.do("AUTH", "bob", password)
				}
			}()
		}
		began := time.Now()
		admin := srv.dialFrom("10.0.0.9:1")
		denied := func() int {
			_, got := fields(t, text(t, admin.do("INFO", "stats")))
			var n int
			fmt.Sscan(got["acl_access_denied_auth"], &n)
			return n
		}
		last := 0
		for second := range 10 {
			time.Sleep(time.Second)
			n := denied()
			if n-last > 20 {
				t.Errorf("%d passwords in second %d", n-last, second+1)
			}
			last = n
			before := time.Now()
			if got := admin.do("AUTH", "bob", "pw"); got != ok || time.Since(before) != 0 {
				t.Errorf("AUTH from elsewhere: %q after %v", got, time.Since(before))
			}
		}
		if last < 50 {
			t.Errorf("%d passwords in %v: nothing was tested", last, time.Since(began))
		}
		close(stop)
		for range clients {
			<-done
		}
	})
}

// Clients that know their passwords are not held up, however many they are.
func TestAuth_ManyLoginsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := startServer(t, 2)
		srv.setUser("bob on >pw +@all &*")
		began := time.Now()
		for i := range 200 {
			c := srv.dialFrom(fmt.Sprintf("10.0.0.1:%d", 1000+i))
			if got := c.do("AUTH", "bob", "pw"); got != ok {
				t.Fatal(got)
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("200 logins took %v", d)
		}
		if n := len(srv.d.guesses.from); n != 0 {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}

// A session that ends while its password waits leaves nothing behind, and a
// client that is turned away is told so.
func TestAuth_TurnsAwayWhoWaitsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := startServer(t, 1)
		replies := make(chan string)
		const clients = 60
		for i := range clients {
			c := srv.dialFrom(fmt.Sprintf("10.0.0.1:%d", 1000+i))
			go func() { replies <- c.do("AUTH", "bob", "x") }()
		}
		away := 0
		for range clients {
			switch got := <-replies; got {
			case wrongPass:
			case "-" + errManyGuesses + "\r\n":
				away++
			default:
				t.Errorf("got %q", got)
			}
		}
		// 5 at once and 15 a second for 2 seconds.
		if away < clients-5-31 || away > clients-5-29 {
			t.Errorf("%d of %d turned away", away, clients)
		}
	})
}

func TestAddressOf_TakesNetworksOfIPv6(t *testing.T) {
	for addr, want := range map[string]string{
		"10.1.2.3:5":             "10.1.2.3",
		"[::ffff:10.1.2.3]:5":    "10.1.2.3",
		"[2001:db8:1:2:3::4]:5":  "2001:db8:1:2::",
		"[fe80::1%eth0]:5":       "fe80::",
		"pipe":                   "invalid IP",
		"/tmp/broker.sock:0":     "invalid IP",
		"[2001:db8:1:2:9::10]:5": "2001:db8:1:2::",
	} {
		if got := network(addr).String(); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

// A success ends a row of failures also where tokens are still missing.
func TestGuesses_SuccessEndsTheRow(t *testing.T) {
	g, now, from := newGuesses(), time.Unix(1000, 0), netip.MustParseAddr("10.0.0.1")
	fail := func() time.Duration {
		now = now.Add(time.Second / 10)
		if wait, ok := g.begin(from, now); wait != 0 || !ok {
			t.Fatalf("waits %v, %v", wait, ok)
		}
		return g.failed(from, now)
	}
	var last time.Duration
	for range freeFailures + 2 {
		last = fail()
	}
	if last != 2*firstDelay {
		t.Fatalf("the last of a row is delayed by %v", last)
	}
	g.begin(from, now)
	g.begin(from, now)
	g.succeeded(from, now)
	if g.from[from] == nil {
		t.Fatal("the address is forgotten while somebody's password is looked at")
	}
	if d := fail(); d != 0 {
		t.Errorf("the first failure after a success is delayed by %v", d)
	}
}

func TestGuesses_TableIsBounded(t *testing.T) {
	g := newGuesses()
	now := time.Unix(1000, 0)
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for i := range maxGuessers + 1000 {
		g.begin(addr(i), now)
		g.failed(addr(i), now)
		now = now.Add(time.Millisecond)
		if len(g.from) > maxGuessers {
			t.Fatalf("%d addresses", len(g.from))
		}
	}
	// Whoever has been quiet goes first.
	now = now.Add(2 * quietPeriod)
	for i := range 100 {
		g.begin(addr(1<<20+i), now)
		g.failed(addr(1<<20+i), now)
	}
	if n := len(g.from); n > maxGuessers-100 {
		t.Errorf("%d addresses when all but 100 are quiet", n)
	}
	for i := range 100 {
		if g.from[addr(1<<20+i)] == nil {
			t.Fatalf("address %d is forgotten, and quiet ones are not", i)
		}
	}
}
