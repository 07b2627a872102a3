package command

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestDebug_IsRestricted: connections in memory come from no machine at all,
// so they are not local.
func TestDebug_IsRestricted(t *testing.T) {
	for access, allowed := range map[DebugAccess]bool{DebugNobody: false, DebugLocal: false, DebugEverybody: true} {
		c := startServer(t, 1, func(cfg *Config) { cfg.DebugCommand = access }).dial()
		got := c.do("DEBUG", "SLEEP", "0")
		if allowed != (got == "+OK\r\n") || !allowed && got != "-"+errDebugNotAllowed+"\r\n" {
			t.Errorf("access %d: %q", access, got)
		}
		if got := c.do("DEBUG"); got != e("wrong number of arguments for 'debug' command") {
			t.Errorf("access %d: arity comes first: %q", access, got)
		}
	}
}

// The turns are what redis-server 7.0.15 answers.
func TestDebugReplyBuffer_IsAccepted(t *testing.T) {
	srv := startServer(t, 1, func(cfg *Config) { cfg.DebugCommand = DebugEverybody })
	unknown := e("unknown subcommand or wrong number of arguments for 'replybuffer'. Try DEBUG HELP.")
	converse(t, srv.dial(), []turn{
		{`DEBUG replybuffer resizing 0`, "+OK\r\n"},
		{`DEBUG replybuffer resizing`, unknown},
		{`DEBUG replybuffer foo 0`, unknown},
	})
}

// TestDebugSleep_DelaysNobodyElse: two sessions of one loop.
func TestDebugSleep_DelaysNobodyElse(t *testing.T) {
	srv := startServer(t, 1, func(cfg *Config) { cfg.DebugCommand = DebugEverybody })
	sleeper, other := srv.dial(), srv.dial()
	sleeper.send("DEBUG", "SLEEP", "1000")
	sleeper.send("PING")
	for range 3 {
		if got := other.do("PING"); got != "+PONG\r\n" {
			t.Fatal(got)
		}
	}
	if got := text(t, other.do("CLIENT", "LIST")); strings.Count(got, "cmd=debug") != 1 {
		t.Errorf("the sleeper does not sleep: %s", got)
	}
}

func TestDebugPause_ReadsSeconds(t *testing.T) {
	for word, want := range map[string]time.Duration{
		"": 0, "x": 0, "-1": 0, "NaN": 0, "0.25": 250 * time.Millisecond, "1e-3": time.Millisecond, " 2": 2 * time.Second,
		"1e999": 0, "inf": maxDebugPause, "99999999": maxDebugPause, strings.Repeat("1", 5000): maxDebugPause,
	} {
		if got := debugPause([]byte(word)); got != want {
			t.Errorf("%.20q: %v, want %v", word, got, want)
		}
	}
}

func TestDebugLog_WritesToTheLog(t *testing.T) {
	var log bytes.Buffer
	srv := startServer(t, 1, func(cfg *Config) {
		cfg.DebugCommand = DebugEverybody
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	if got := srv.dial().do("DEBUG", "LOG", "a\r\nb"); got != "+OK\r\n" {
		t.Error(got)
	}
	if got := log.String(); !strings.Contains(got, `msg="DEBUG LOG" message="a\r\nb"`) || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
}

func TestShutdown_AsksOnceAndAnswersNothing(t *testing.T) {
	asked := make(chan struct{}, 2)
	srv := startServer(t, 2, func(cfg *Config) { cfg.Shutdown = func() { asked <- struct{}{} } })
	c, other := srv.dial(), srv.dial()
	c.send("SHUTDOWN", "nosave", "NOW")
	<-asked
	c.send("PING")
	if got := other.do("PING"); got != "+PONG\r\n" {
		t.Error(got)
	}
	if got := text(t, other.do("CLIENT", "LIST")); strings.Count(got, "cmd=shutdown") != 1 {
		t.Errorf("the asking session goes on: %s", got)
	}
}

func TestMemoryStats_MeasuresSessions(t *testing.T) {
	srv := startServer(t, 2)
	c := srv.dial()
	c.do("HELLO", "3")
	stats := func() map[string]value {
		out := map[string]value{}
		for _, p := range decode(t, strings.ReplaceAll(c.do("MEMORY", "STATS"), "\r\n,", "\r\n+")).(pairs) {
			out[p[0].(string)] = p[1]
		}
		return out
	}
	before := stats()
	if before["clients.pubsub"] != int64(0) || before["clients.normal"].(int64) <= 0 {
		t.Errorf("%v", before)
	}
	for range 4 {
		srv.dial().do("SUBSCRIBE", "ch")
	}
	after := stats()
	if after["clients.pubsub"].(int64) <= 0 || after["clients.normal"] != before["clients.normal"] {
		t.Errorf("before %v\nafter %v", before, after)
	}
	for _, name := range []string{"total.allocated", "startup.allocated", "allocator.allocated", "allocator.active", "allocator.resident"} {
		if after[name].(int64) < 1<<15 {
			t.Errorf("%s is %v", name, after[name])
		}
	}
	if after["peak.allocated"].(int64) < after["total.allocated"].(int64) {
		t.Errorf("the peak is below what is used: %v", after)
	}
	if got := text(t, c.do("MEMORY", "MALLOC-STATS")); !strings.Contains(got, "/memory/classes/heap/objects:bytes ") {
		t.Errorf("%q", got)
	}
}
