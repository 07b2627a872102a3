package command

import (
	"regexp"
	"strings"
	"testing"
)

var monitorTime = regexp.MustCompile(`^\+\d{10}\.\d{6} \[`)

// line reads one line of MONITOR and cuts time and address off.
func (c *client) monitorLine() string {
	c.t.Helper()
	line := c.read()
	if !monitorTime.MatchString(line) {
		c.t.Fatalf("not a monitor's line: %q", line)
	}
	_, rest, _ := strings.Cut(line, "[")
	return strings.TrimSuffix(rest, "\r\n")
}

func TestMonitor_ShowsWhatRuns(t *testing.T) {
	shardCounts(t, func(t *testing.T, srv *server) {
		m1, m2, c := srv.dial(), srv.dial(), srv.dial()
		m1.expect("+OK\r\n", "MONITOR")
		m2.expect("+OK\r\n", "MONITOR")
		for _, cmd := range []string{"SELECT 3", "PING", "NOPE x", "GET", "CONFIG GET port", "CLIENT LIST", "MULTI", "ECHO a", "EXEC",
			"HELLO 2 AUTH default secret SETNAME AUTH"} {
			c.do(strings.Fields(cmd)...)
		}
		c.do("PUBLISH", "a", "\x00\"\\\n\r\t\a\b\xff")
		for _, m := range []*client{m1, m2} {
			for _, want := range []string{
				`3 pipe] "SELECT" "3"`, `3 pipe] "PING"`, `3 pipe] "MULTI"`, `3 pipe] "ECHO" "a"`, `3 pipe] "EXEC"`,
				`3 pipe] "HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "AUTH"`,
				`3 pipe] "PUBLISH" "a" "\x00\"\\\n\r\t\a\b\xff"`,
			} {
				if got := m.monitorLine(); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		}
		if list := c.do("CLIENT", "LIST"); strings.Count(list, " flags=O ") != 2 {
			t.Errorf("CLIENT LIST shows no two monitors: %q", list)
		}
		m1.send("PING")
		if got := m1.read(); got != "+PONG\r\n" {
			t.Errorf("a monitor's own command: %q", got)
		}
		if got := m1.monitorLine(); got != `0 pipe] "PING"` {
			t.Errorf("got %s", got)
		}
		m2.monitorLine()
		m1.expect("+RESET\r\n", "RESET")
		m2.monitorLine()
		c.do("PING")
		m1.expect("+PONG\r\n", "PING") // and no line
		m2.conn.Close()
		for srv.d.monitorCount.Load() != 0 {
			c.do("PING")
		}
		if srv.d.alerts.Load() != 0 {
			t.Error("every command is still looked at although nobody monitors")
		}
	})
}

func TestMonitor_NotInATransaction(t *testing.T) {
	c := startServer(t, 1).dial()
	c.expect("+OK\r\n+QUEUED\r\n*1\r\n-ERR MONITOR isn't allowed for a DENY BLOCKING client\r\n", "MULTI", "MONITOR", "EXEC")
}
