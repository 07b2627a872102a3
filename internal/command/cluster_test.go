package command

import (
	"strings"
	"testing"
)

// TestSlotOf uses the specification's check value, 0x31C3, and examples.
func TestSlotOf(t *testing.T) {
	if got := crc16([]byte("123456789")); got != 0x31C3 {
		t.Errorf("%#x", got)
	}
	for name, want := range map[string]int{"": 0, "a": 15495, "foo": 12182, "{a}1": 15495, "x{a}y{b}": 15495} {
		if got := slotOf([]byte(name)); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
	for _, pair := range [][2]string{{"{}a", "{}b"}, {"a{", "a"}, {"}a{", "a"}} {
		if slotOf([]byte(pair[0])) == slotOf([]byte(pair[1])) {
			t.Errorf("%q and %q are in one slot", pair[0], pair[1])
		}
	}
}

// TestCluster_RefusesSeveralSlots where names have slots, in the order of
// Redis's checks, and leaves nothing of a refused command behind.
func TestCluster_RefusesSeveralSlots(t *testing.T) {
	cross := "-" + errCrossSlot + "\r\n"
	c := startServer(t, 2, func(cfg *Config) { cfg.Cluster = true }).dial()
	converse(t, c, []turn{
		{`SSUBSCRIBE a b`, cross},
		{`PING`, "+PONG\r\n"}, // not in subscriber mode
		{`SUNSUBSCRIBE a b`, cross},
		{`MGET a b`, cross},
		{`EVAL x 2 a b`, cross},
		{`MULTI`, "+OK\r\n"},
		{`SPUBLISH a x`, "+QUEUED\r\n"},
		{`SPUBLISH b x`, "+QUEUED\r\n"},
		{`EXEC`, cross},
		{`EXEC`, e("EXEC without MULTI")},
		{`MULTI`, "+OK\r\n"},
		{`SSUBSCRIBE a b`, cross},
		{`EXEC`, "-EXECABORT Transaction discarded because of previous errors.\r\n"},
		{`SELECT 1`, e("SELECT is not allowed in cluster mode")},
		{`SUBSCRIBE z`, "*3\r\n" + bulk("subscribe") + bulk("z") + ":1\r\n"},
		{`SSUBSCRIBE a b`, cross},
		{`GET a`, e("Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")},
	})
}

// TestCluster_OffIsAsWithout: names of several slots are served, and any
// subcommand is answered with what clients look for.
func TestCluster_OffIsAsWithout(t *testing.T) {
	c := startServer(t, 1).dial()
	for _, words := range []string{"CLUSTER INFO", "CLUSTER FOO", "CLUSTER HELP", "READONLY", "READWRITE"} {
		if got := c.do(strings.Fields(words)...); got != "-"+errNoCluster+"\r\n" {
			t.Errorf("%s: %q", words, got)
		}
	}
	if got := c.do("MGET", "a", "b"); got != "*2\r\n$-1\r\n$-1\r\n" {
		t.Errorf("MGET: %q", got)
	}
}

// TestCluster_IDsAreOfThisRun: 40 digits, two different ones, the same on
// every connection.
func TestCluster_IDsAreOfThisRun(t *testing.T) {
	srv := startServer(t, 2, func(cfg *Config) { cfg.Cluster = true })
	a, b := srv.dial(), srv.dial()
	id, shard := text(t, a.do("CLUSTER", "MYID")), text(t, a.do("CLUSTER", "MYSHARDID"))
	if len(id) != 40 || len(shard) != 40 || id == shard || id != text(t, b.do("CLUSTER", "MYID")) {
		t.Errorf("%q %q", id, shard)
	}
	if got := text(t, b.do("CLUSTER", "NODES")); !strings.HasPrefix(got, id+" ") || !strings.Contains(got, " myself,master - 0 0 0 connected 0-16383\n") {
		t.Errorf("%q", got)
	}
}
