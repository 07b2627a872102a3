package command

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestClientKill_ReachesAllShards(t *testing.T) {
	for _, tt := range []struct {
		args   string
		killed string // ids
	}{
		{"ID 3", "3"},
		{"ID 1", ""}, // the one that asks, spared by default
		{"ID 99", ""},
		{"ID 2 ID 3", "3"}, // the last one counts
		{"TYPE pubsub", "4 5"},
		{"TYPE normal", "2 3 6 7"},
		{"TYPE replica", ""},
		{"TYPE master", ""},
		{"TYPE pubsub ID 5", "5"},
		{"TYPE pubsub ID 6", ""},
		{"USER default", "2 3 4 5 6 7"},
		{"USER default ID 7 skipme YES", "7"},
		{"SKIPME yes", "2 3 4 5 6 7"},
		{"ADDR nowhere", ""},
		{"LADDR nowhere", ""},
		{"ADDR pipe", "2 3 4 5 6 7"}, // all are in memory
		{"addr pipe laddr pipe type PUBSUB", "4 5"},
		{"ADDR pipe LADDR nowhere", ""},
		{"MAXAGE 1000", ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			srv := startServer(t, 3)
			clients := make([]*client, 8)
			for id := 1; id < len(clients); id++ {
				clients[id] = srv.dial()
				clients[id].do("PING")
			}
			clients[4].do("SUBSCRIBE", "x")
			clients[5].do("SSUBSCRIBE", "x")

			want := strings.Fields(tt.killed)
			reply := clients[1].do(append([]string{"CLIENT", "KILL"}, strings.Fields(tt.args)...)...)
			if reply != ":"+strconv.Itoa(len(want))+"\r\n" {
				t.Errorf("replied %q, want %d", reply, len(want))
			}
			for _, word := range want {
				id, _ := strconv.Atoi(word)
				clients[id].expectClosed()
				clients[id] = nil
			}
			for id, c := range clients {
				if c != nil && !strings.Contains(c.do("PING"), "PONG") && id != 4 && id != 5 {
					t.Errorf("%d lives but does not answer", id)
				}
			}
		})
	}
}

func TestClientKill_MaxAgeIsInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := startServer(t, 2)
		old := srv.dial()
		old.do("PING")
		time.Sleep(3 * time.Second)
		young, c := srv.dial(), srv.dial()
		young.do("PING")
		if got := c.do("CLIENT", "KILL", "MAXAGE", "4"); got != ":0\r\n" {
			t.Errorf("older than 4 s: %q", got)
		}
		if got := c.do("CLIENT", "KILL", "MAXAGE", "3"); got != ":1\r\n" {
			t.Errorf("older than 3 s: %q", got)
		}
		old.expectClosed()
		if got := young.do("PING"); got != "+PONG\r\n" {
			t.Errorf("the younger one: %q", got)
		}
	})
}

// TestClientKill_AnswersFirst: whoever kills itself is told, and runs nothing
// that it sent behind.
func TestClientKill_AnswersFirst(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"ID 2 SKIPME no", ":1\r\n"},
		{"SKIPME no", ":2\r\n"},
		{"pipe", "+OK\r\n"}, // the older form does not spare the one that asks
	} {
		t.Run(tt.args, func(t *testing.T) {
			srv := startServer(t, 2)
			sub, c := srv.dial(), srv.dial()
			sub.do("SUBSCRIBE", "a")
			c.write(encode(append([]string{"CLIENT", "KILL"}, strings.Fields(tt.args)...)...) + encode("PUBLISH", "a", "x"))
			if got := c.read(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			c.expectClosed()
			if tt.want != ":1\r\n" {
				sub.expectClosed()
			} else if got := sub.do("PING", "done"); got != "*2\r\n$4\r\npong\r\n$4\r\ndone\r\n" {
				t.Errorf("a command behind CLIENT KILL was run: %q", got)
			}
		})
	}
}

// TestClientKill_CountsOnce: what one command has killed is not there for the
// next one, although it is torn down only at the end of the turn.
func TestClientKill_CountsOnce(t *testing.T) {
	srv := startServer(t, 1)
	victim, c := srv.dial(), srv.dial()
	victim.do("SUBSCRIBE", "a")
	c.write(strings.Repeat(encode("CLIENT", "KILL", "TYPE", "pubsub"), 2) + encode("CLIENT", "KILL", "ID", "1"))
	for _, want := range []string{":1\r\n", ":0\r\n", ":0\r\n"} {
		if got := c.read(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	victim.expectClosed()
}

// TestClientKill_EndsSubscriptions: after the victim has seen its end nobody
// counts it.
func TestClientKill_EndsSubscriptions(t *testing.T) {
	srv := startServer(t, 2)
	victim, c := srv.dial(), srv.dial()
	victim.do("SUBSCRIBE", "a")
	victim.do("PSUBSCRIBE", "*")
	converse(t, c, []turn{
		{`PUBLISH a x`, ":2\r\n"},
	})
	for range 2 {
		victim.read()
	}
	converse(t, c, []turn{
		{`CLIENT KILL TYPE pubsub`, ":1\r\n"},
	})
	victim.expectClosed()
	converse(t, c, []turn{
		{`PUBLISH a x`, ":0\r\n"},
		{`PUBSUB NUMPAT`, ":0\r\n"},
	})
}

func TestClientKill_Errors(t *testing.T) {
	srv := startServer(t, 2)
	bystander, c := srv.dial(), srv.dial()
	converse(t, c, []turn{
		{`CLIENT KILL`, arity("client|kill")},
		{`CLIENT KILL 1.2.3.4:5`, e("No such client")},
		{`CLIENT KILL ID`, e("No such client")},
		{`CLIENT KILL ID 0`, e("client-id should be greater than 0")},
		{`CLIENT KILL ID -1`, e("client-id should be greater than 0")},
		{`CLIENT KILL ID x`, e("client-id should be greater than 0")},
		{`CLIENT KILL ID 99999999999999999999`, e("client-id should be greater than 0")},
		{`CLIENT KILL TYPE foo`, e("Unknown client type 'foo'")},
		{`CLIENT KILL USER bob`, e("No such user 'bob'")},
		{`CLIENT KILL SKIPME maybe`, e("syntax error")},
		{`CLIENT KILL MAXAGE x`, e("maxage is not an integer or out of range")},
		{`CLIENT KILL MAXAGE 0`, e("maxage should be greater than 0")},
		{`CLIENT KILL FOO bar`, e("syntax error")},
		{`CLIENT KILL TYPE normal FOO`, e("syntax error")},
		{`CLIENT KILL TYPE normal ID 0`, e("client-id should be greater than 0")},
	})
	if got := bystander.do("PING"); got != "+PONG\r\n" {
		t.Errorf("a mistake killed somebody: %q", got)
	}
	_, got := fields(t, text(t, c.do("INFO", "commandstats")))
	if v := got["cmdstat_client|kill"]; !strings.HasPrefix(v, "calls=14,") || !strings.HasSuffix(v, "rejected_calls=1,failed_calls=14") {
		t.Errorf("client|kill: %s", v)
	}
}
