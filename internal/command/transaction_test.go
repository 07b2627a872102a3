package command

import (
	"strings"
	"testing"

	"broker/shard"
)

// expect sends commands, each in one string of words, and compares all replies
// with what is wanted, byte by byte.
func (c *client) expect(want string, commands ...string) {
	c.t.Helper()
	var sent strings.Builder
	for _, cmd := range commands {
		sent.WriteString(encode(strings.Fields(cmd)...))
	}
	go func() { _, _ = c.conn.Write([]byte(sent.String())) }()
	got := make([]byte, len(want))
	n := 0
	for n < len(got) {
		m, err := c.r.Read(got[n:])
		n += m
		if err != nil || !strings.HasPrefix(want, string(got[:n])) {
			c.t.Fatalf("%q:\n got %q (%v)\nwant %q", commands, got[:n], err, want)
		}
	}
	if rest := c.r.Buffered(); rest > 0 {
		b, _ := c.r.Peek(rest)
		c.t.Fatalf("%q: %q behind %q", commands, b, want)
	}
}

// shardCounts are the numbers of shards that tests of several steps run with:
// with two, commands that ask or wait for the other loop are suspended.
func shardCounts(t *testing.T, f func(t *testing.T, srv *server)) {
	for _, n := range []int{1, 2} {
		t.Run(map[int]string{1: "one shard", 2: "two shards"}[n], func(t *testing.T) { f(t, startServer(t, n)) })
	}
}

func TestExec_RunsWhatIsQueued(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		s, c := srv.dial(), srv.dial()
		s.expect("*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", "SUBSCRIBE a")
		c.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
			"MULTI", "PUBLISH a 1", "PUBLISH a 2", "PUBSUB NUMSUB a", "EXEC")
		s.expect("*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n1\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n2\r\n")
		c.expect("+OK\r\n*0\r\n-ERR EXEC without MULTI\r\n", "MULTI", "EXEC", "EXEC")
	})
}

// A client's own messages, and those that arrive while EXEC takes several
// steps, come behind the whole reply.
func TestExec_MessagesComeBehindTheReply(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		c := srv.dial()
		ack := "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
		gone := "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"
		message := "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"
		c.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n"+ack+":1\r\n$1\r\nb\r\n"+message,
			"MULTI", "SUBSCRIBE a", "PUBLISH a x", "ECHO b", "EXEC")
		c.expect(gone+"+PONG\r\n", "UNSUBSCRIBE a", "PING")
		// Unsubscribing makes sure of what was published before.
		c.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n"+ack+":1\r\n"+gone+"$1\r\nb\r\n"+message,
			"MULTI", "SUBSCRIBE a", "PUBLISH a x", "UNSUBSCRIBE a", "ECHO b", "EXEC")
	})
}

// Commands that ask every loop suspend the session in the middle of EXEC.
func TestExec_GoesOnBehindACommandThatWaits(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		c := srv.dial()
		c.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n", "MULTI", "CLIENT KILL ID 4711", "CONFIG RESETSTAT", "ECHO b")
		c.expect("*3\r\n:0\r\n+OK\r\n$1\r\nb\r\n+PONG\r\n", "EXEC", "PING")
	})
}

func TestExec_YieldsWhenTheQueueIsLong(t *testing.T) {
	srv := startServer(t, 1)
	c := srv.dial()
	const n = 2*execCommandsPerTurn + 7
	go func() {
		ping := encode("PING")
		_, _ = c.conn.Write([]byte(encode("MULTI") + strings.Repeat(ping, n) + encode("EXEC")))
	}()
	if got := c.read(); got != "+OK\r\n" {
		t.Fatal(got)
	}
	for range n {
		if got := c.read(); got != "+QUEUED\r\n" {
			t.Fatal(got)
		}
	}
	if got, want := c.read(), "*32775\r\n"+strings.Repeat("+PONG\r\n", n); got != want {
		t.Errorf("%d bytes of reply, want %d", len(got), len(want))
	}
}

func TestMulti_Errors(t *testing.T) {
	c := startServer(t, 1).dial()
	const abort = "-EXECABORT Transaction discarded because of previous errors.\r\n"
	for _, tt := range []struct {
		want     string
		commands []string
	}{
		{"-ERR EXEC without MULTI\r\n", []string{"EXEC"}},
		{"-ERR DISCARD without MULTI\r\n", []string{"DISCARD"}},
		{"+OK\r\n-ERR MULTI calls can not be nested\r\n+QUEUED\r\n*1\r\n+PONG\r\n", []string{"MULTI", "MULTI", "PING", "EXEC"}},
		{"+OK\r\n-ERR WATCH inside MULTI is not allowed\r\n*0\r\n", []string{"MULTI", "WATCH k", "EXEC"}},
		{"+OK\r\n+QUEUED\r\n-ERR unknown command 'NOPE', with args beginning with: \r\n" + abort, []string{"MULTI", "PING", "NOPE", "EXEC"}},
		{"+OK\r\n-ERR wrong number of arguments for 'publish' command\r\n+QUEUED\r\n" + abort, []string{"MULTI", "PUBLISH a", "PING", "EXEC"}},
		{"+OK\r\n-ERR unknown subcommand 'FOO'. Try PUBSUB HELP.\r\n" + abort, []string{"MULTI", "PUBSUB FOO", "EXEC"}},
		{"+OK\r\n+QUEUED\r\n+OK\r\n-ERR EXEC without MULTI\r\n", []string{"MULTI", "PING", "DISCARD", "EXEC"}},
		{"+OK\r\n-ERR SUBSCRIBE of several names isn't allowed inside a transaction\r\n" + abort, []string{"MULTI", "SUBSCRIBE a b", "EXEC"}},
		{"+OK\r\n-ERR PUNSUBSCRIBE of several names isn't allowed inside a transaction\r\n" + abort, []string{"MULTI", "PUNSUBSCRIBE a b", "EXEC"}},
		{"+OK\r\n+QUEUED\r\n*1\r\n-ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client\r\n", []string{"MULTI", "SSUBSCRIBE s", "EXEC"}},
		{"+OK\r\n-ERR Command not allowed inside a transaction\r\n" + abort, []string{"MULTI", "CLIENT REPLY OFF", "EXEC"}},
		{"+OK\r\n+QUEUED\r\n+RESET\r\n-ERR EXEC without MULTI\r\n", []string{"MULTI", "PING", "RESET", "EXEC"}},
		{"+OK\r\n+OK\r\n+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n+PONG\r\n", []string{"WATCH a b", "UNWATCH", "WATCH c", "MULTI", "PING", "EXEC"}},
		{"+OK\r\n+QUEUED\r\n*1\r\n-ERR DB index is out of range\r\n", []string{"MULTI", "SELECT 99", "EXEC"}},
		{"+OK\r\n+QUEUED\r\n+OK\r\n", []string{"MULTI", "PING", "QUIT"}},
	} {
		c.expect(tt.want, tt.commands...)
	}
	c.expectClosed()
}

// An UNSUBSCRIBE without names answers with a frame per name: with more than
// one, EXEC's reply would have more elements than it says.
func TestExec_UnsubscribeFromSeveral(t *testing.T) {
	c := startServer(t, 1).dial()
	c.expect("%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8.0.6\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n", "HELLO 3")
	c.expect(">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n", "SUBSCRIBE a b")
	c.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-ERR UNSUBSCRIBE of several names isn't allowed inside a transaction\r\n>3\r\n$12\r\npunsubscribe\r\n_\r\n:2\r\n",
		"MULTI", "UNSUBSCRIBE", "PUNSUBSCRIBE", "EXEC")
	c.expect(">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n", "UNSUBSCRIBE a")
	c.expect("+OK\r\n+QUEUED\r\n*1\r\n>3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n", "MULTI", "UNSUBSCRIBE", "EXEC")
}

// A queue counts as unfinished input.
func TestMulti_QueueIsBounded(t *testing.T) {
	srv := startServer(t, 1)
	c, admin := srv.dial(), srv.dial()
	settings := shard.Settings{QueryBufferBytes: 1 << 20}
	srv.group.Each(func(l *shard.Loop) { l.Apply(settings) })
	c.expect("+OK\r\n", "MULTI")
	big := strings.Repeat("x", 300<<10)
	for range 3 {
		c.expect("+QUEUED\r\n", "ECHO "+big)
	}
	if list := admin.do("CLIENT", "LIST"); !strings.Contains(list, "multi=3 ") {
		t.Errorf("CLIENT LIST does not tell what is queued: %q", list)
	}
	c.send("ECHO", big)
	c.expectClosed()
	admin.expect("+PONG\r\n", "PING")
}

func TestClientReply(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		c, p := srv.dial(), srv.dial()
		ack := "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
		gone := "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"
		c.expect("+PONG\r\n", "CLIENT REPLY SKIP", "PING", "PING")
		c.expect("$1\r\nb\r\n", "CLIENT REPLY SKIP", "CLIENT REPLY SKIP", "ECHO a", "ECHO b")
		c.expect("$1\r\nc\r\n", "CLIENT REPLY SKIP", "NOPE", "ECHO c")
		c.expect("-ERR syntax error\r\n", "CLIENT REPLY MAYBE")
		// Frames are sent in any case, replies and errors are not.
		c.expect(ack, "CLIENT REPLY OFF", "PING", "NOPE", "CLIENT LIST", "SUBSCRIBE a")
		p.expect(":1\r\n", "PUBLISH a x")
		c.expect("*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n")
		c.expect(gone+"+OK\r\n+PONG\r\n", "UNSUBSCRIBE a", "CLIENT REPLY SKIP", "PING", "CLIENT REPLY ON", "PING")
		c.expect("+RESET\r\n+PONG\r\n", "CLIENT REPLY OFF", "PING", "RESET", "PING")
		c.expect("+OK\r\n", "CLIENT REPLY OFF", "MULTI", "PING", "EXEC", "CLIENT REPLY ON")
	})
}

func TestClientPause(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		a, b, sub := srv.dial(), srv.dial(), srv.dial()
		for _, tt := range []struct{ command, want string }{
			{"CLIENT PAUSE x", "-ERR timeout is not an integer or out of range\r\n"},
			{"CLIENT PAUSE 99999999999999999", "-ERR timeout is not an integer or out of range\r\n"},
			{"CLIENT PAUSE -1", "-ERR timeout is negative\r\n"},
			{"CLIENT PAUSE 1 NONE", "-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n"},
			{"CLIENT UNPAUSE", "+OK\r\n"},
		} {
			a.expect(tt.want, tt.command)
		}
		a.expect("+OK\r\n", "CLIENT PAUSE 100000 WRITE")
		sub.expect("*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", "SUBSCRIBE a")
		// A pipe has no buffer: what is not read blocks the writer.
		held := make(chan struct{})
		go func() {
			defer close(held)
			_, _ = b.conn.Write([]byte(encode("PUBLISH", "a", "x") + encode("PING") + encode("MULTI") + encode("SPUBLISH", "a", "x")))
		}()
		for strings.Count(a.do("CLIENT", "LIST"), "flags=b ") != 1 {
		}
		a.expect("+PONG\r\n+OK\r\n", "PING", "CLIENT UNPAUSE")
		b.expect(":1\r\n+PONG\r\n+OK\r\n+QUEUED\r\n")
		<-held
		sub.expect("*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n")
		a.expect("+OK\r\n", "CLIENT PAUSE 100000 WRITE")
		b.send("EXEC") // holds something that waits
		for !strings.Contains(a.do("CLIENT", "LIST"), "flags=xb ") {
		}
		a.expect("+OK\r\n", "CLIENT UNPAUSE")
		b.expect("*1\r\n:0\r\n")
		// A pause of everything ends by itself.
		a.expect("+OK\r\n", "CLIENT PAUSE 30")
		b.expect("+PONG\r\n", "PING")
	})
}

func TestWatch_IsCounted(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		c, o := srv.dial(), srv.dial()
		check := func(want string) {
			t.Helper()
			if info := o.do("INFO", "clients"); !strings.Contains(info, "\r\nwatching_clients:"+want+"\r\n") {
				t.Errorf("watching_clients is not %s: %q", want, info)
			}
		}
		c.expect("+OK\r\n+OK\r\n", "WATCH a b", "WATCH a")
		check("1")
		if list := c.do("CLIENT", "INFO"); !strings.Contains(list, " watch=2 ") {
			t.Errorf("%q", list)
		}
		c.expect("+OK\r\n", "UNWATCH")
		check("0")
		for _, end := range []string{"EXEC", "DISCARD"} {
			c.expect("+OK\r\n+OK\r\n", "WATCH a", "MULTI")
			check("1")
			c.do(end)
			check("0")
		}
		c.expect("+OK\r\n+RESET\r\n", "WATCH a", "RESET")
		check("0")
	})
}
