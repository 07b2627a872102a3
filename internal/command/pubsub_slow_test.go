package command

import (
	"fmt"
	"strings"
	"testing"

	"broker/shard"
)

func TestPubSubSlow_WorstFirst(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		admin := srv.dial()
		admin.expect("*0\r\n", "PUBSUB SLOW")
		big := strings.Repeat("x", 100_000)
		for i := range 3 {
			slow := srv.dial()
			slow.expect("+OK\r\n", fmt.Sprintf("CLIENT SETNAME slow%d", i))
			slow.expect(fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$2\r\nc%d\r\n:1\r\n", i), fmt.Sprintf("SUBSCRIBE c%d", i))
		}
		for i := range 3 {
			for range 2 * (i + 2) {
				admin.expect(":1\r\n", fmt.Sprintf("PUBLISH c%d %s", i, big))
			}
		}
		var names []string
		for len(names) < 3 { // what the driver takes leaves after the reply
			names = nil
			list, _ := decode(t, admin.do("PUBSUB", "SLOW")).([]value)
			for _, o := range list {
				fields := flat(o)
				names = append(names, fields["name"].(string))
				if fields["user"] != "default" || fields["policy"] != "disconnect" || fields["sub"] != int64(1) ||
					fields["queued-bytes"].(int64) < 100_000 || fields["behind-ms"].(int64) < 0 || fields["dropped"] != int64(0) {
					t.Errorf("odd fields: %v", fields)
				}
			}
		}
		if got := strings.Join(names, " "); got != "slow2 slow1 slow0" {
			t.Errorf("got %q", got)
		}
		list, _ := decode(t, admin.do("PUBSUB", "SLOW", "COUNT", "2")).([]value)
		if len(list) != 2 || flat(list[0])["name"] != "slow2" {
			t.Errorf("COUNT 2: %v", list)
		}
		for _, tt := range []struct{ command, want string }{
			{"PUBSUB SLOW 2", "-ERR syntax error\r\n"},
			{"PUBSUB SLOW COUNT x", "-ERR value is not an integer or out of range\r\n"},
			{"PUBSUB SLOW COUNT 0", "-ERR COUNT must be between 1 and 100000\r\n"},
			{"PUBSUB SUBSCRIBERS", "-ERR wrong number of arguments for 'pubsub|subscribers' command\r\n"},
			{"PUBSUB SUBSCRIBERS a COUNT 100001", "-ERR COUNT must be between 1 and 100000\r\n"},
		} {
			admin.expect(tt.want, tt.command)
		}
	})
}

// flat returns the pairs of a RESP2 map.
func flat(v value) map[string]value {
	out := map[string]value{}
	list, _ := v.([]value)
	for i := 0; i+1 < len(list); i += 2 {
		out[list[i].(string)] = list[i+1]
	}
	return out
}

func TestPubSubStats(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		s, a, b := srv.dial(), srv.dial(), srv.dial()
		a.expect("*0\r\n", "PUBSUB STATS")
		s.expect("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n", "SUBSCRIBE news")
		for range 3 { // publishers on every loop
			a.expect(":1\r\n", "PUBLISH news hello")
			b.expect(":1\r\n", "PUBLISH news hello")
			s.read()
			s.read()
		}
		a.expect(":0\r\n", "PUBLISH quiet x")
		list, _ := decode(t, a.do("PUBSUB", "STATS", "news", "nothing")).([]value)
		if len(list) != 2 {
			t.Fatalf("%v", list)
		}
		news := flat(list[0])
		for field, want := range map[string]value{
			"channel": "news", "subscribers": int64(1), "messages": int64(6), "bytes": int64(30),
			"deliveries": int64(6), "delivered-bytes": int64(30), "dropped": int64(0), "counted-one-in": int64(1),
		} {
			if news[field] != want {
				t.Errorf("%s is %v, want %v", field, news[field], want)
			}
		}
		if nothing := flat(list[1]); nothing["channel"] != "nothing" || nothing["messages"] != int64(0) {
			t.Errorf("a channel without traffic: %v", nothing)
		}
		list, _ = decode(t, a.do("PUBSUB", "STATS")).([]value)
		if len(list) != 2 || flat(list[0])["channel"] != "news" || flat(list[1])["channel"] != "quiet" {
			t.Errorf("the busiest: %v", list)
		}
	})
}

func TestPubSubSubscribers(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		admin := srv.dial()
		for i := range 4 {
			c := srv.dial()
			c.expect("+OK\r\n", fmt.Sprintf("CLIENT SETNAME s%d", i))
			c.do("SUBSCRIBE", "news")
			c.do("PSUBSCRIBE", "n*")
		}
		admin.expect("*0\r\n", "PUBSUB SUBSCRIBERS n*")
		list, _ := decode(t, admin.do("PUBSUB", "SUBSCRIBERS", "news")).([]value)
		if len(list) != 4 {
			t.Fatalf("%v", list)
		}
		for i, o := range list {
			if f := flat(o); f["id"] != int64(i+2) || f["addr"] != "pipe" || f["name"] != fmt.Sprintf("s%d", i) {
				t.Errorf("subscriber %d: %v", i, f)
			}
		}
		if list, _ := decode(t, admin.do("PUBSUB", "SUBSCRIBERS", "news", "COUNT", "3")).([]value); len(list) != 3 {
			t.Errorf("COUNT 3: %v", list)
		}
	})
}

func TestClientSlowPolicy(t *testing.T) {
	srv := startServer(t, 1)
	srv.group.Each(func(l *shard.Loop) {
		st := l.Settings()
		st.Slow = &shard.SlowPolicies{Default: shard.SlowPolicy{Kind: shard.SlowConflate, LimitBytes: 777}}
		l.Apply(st)
	})
	c := srv.dial()
	describe := func() string {
		t.Helper()
		f := flat(decode(t, c.do("CLIENT", "SLOWPOLICY")))
		return fmt.Sprint(f["policy"], " ", f["limit"], " ", f["own"], " ", f["notify"], " ", f["dropped"])
	}
	for _, tt := range []struct{ command, reply, then string }{
		{"", "", "conflate 777 0 0 0"},
		{"DROP-OLDEST", "+OK\r\n", "drop-oldest 1048576 1 0 0"},
		{"drop-newest limit 5 notify on", "+OK\r\n", "drop-newest 5 1 1 0"},
		{"DISCONNECT", "+OK\r\n", "disconnect 1048576 1 1 0"},
		{"default notify off", "+OK\r\n", "conflate 777 0 0 0"},
		{"CONFLATE LIMIT 9", "+OK\r\n", "conflate 9 1 0 0"},
		{"KEEP", "-ERR syntax error\r\n", "conflate 9 1 0 0"},
		{"CONFLATE LIMIT", "-ERR syntax error\r\n", "conflate 9 1 0 0"},
		{"DEFAULT LIMIT 9", "-ERR syntax error\r\n", "conflate 9 1 0 0"},
		{"CONFLATE NOTIFY MAYBE", "-ERR syntax error\r\n", "conflate 9 1 0 0"},
		{"CONFLATE LIMIT 0", "-ERR LIMIT must be a number of bytes between 1 and 1099511627776\r\n", "conflate 9 1 0 0"},
		{"CONFLATE LIMIT 1e9", "-ERR LIMIT must be a number of bytes between 1 and 1099511627776\r\n", "conflate 9 1 0 0"},
	} {
		if tt.command != "" {
			c.expect(tt.reply, "CLIENT SLOWPOLICY "+tt.command)
		}
		if got := describe(); got != tt.then {
			t.Errorf("after %q: %s, want %s", tt.command, got, tt.then)
		}
	}
	c.expect("+RESET\r\n", "RESET")
	if got := describe(); got != "conflate 777 0 0 0" {
		t.Errorf("after RESET: %s", got)
	}
}

func TestSubscribe_Limits(t *testing.T) {
	srv := startServer(t, 1)
	srv.d.Configure(Runtime{MaxSubscriptions: 3, MaxPatternBytes: 5})
	c := srv.dial()
	c.expect("*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n", "SUBSCRIBE a b")
	const most = "-ERR max number of subscriptions per client reached\r\n"
	c.expect(most, "SUBSCRIBE c d")
	c.expect("-ERR pattern is longer than max-pattern-length\r\n", "PSUBSCRIBE 12345*")
	c.expect("*3\r\n$10\r\npsubscribe\r\n$5\r\n1234*\r\n:3\r\n", "PSUBSCRIBE 1234*")
	c.expect(most+most+most, "SUBSCRIBE e", "SSUBSCRIBE e", "PSUBSCRIBE e")
	c.expect("*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:2\r\n", "UNSUBSCRIBE a")
	c.expect("*3\r\n$10\r\nssubscribe\r\n$1\r\ne\r\n:1\r\n", "SSUBSCRIBE e")
	srv.d.Configure(Runtime{})
	c.expect("*3\r\n$9\r\nsubscribe\r\n$1\r\nf\r\n:3\r\n", "SUBSCRIBE f")
}
