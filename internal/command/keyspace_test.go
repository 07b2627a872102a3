package command

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestKeyspace_IsEmpty: what a client that probes is told, in both protocols.
func TestKeyspace_IsEmpty(t *testing.T) {
	c := startServer(t, 1).dial()
	for _, proto := range []string{"2", "3"} {
		c.do("HELLO", proto)
		null := map[string]string{"2": "$-1\r\n", "3": "_\r\n"}[proto]
		converse(t, c, []turn{
			{`GET k`, null},
			{`MGET a b a`, "*3\r\n" + null + null + null},
			{`RANDOMKEY`, null},
			{`EXISTS a b`, ":0\r\n"},
			{`TTL k`, ":-2\r\n"},
			{`PTTL k`, ":-2\r\n"},
			{`TYPE k`, "+none\r\n"},
			{`STRLEN k`, ":0\r\n"},
			{`DBSIZE`, ":0\r\n"},
			{`KEYS *`, "*0\r\n"},
			{`SCAN 0 MATCH * COUNT 100 TYPE string`, "*2\r\n" + bulk("0") + "*0\r\n"},
			{`XLEN s`, ":0\r\n"},
			{`XRANGE s 0-0 0-0`, "*0\r\n"},
			{`MEMORY USAGE k`, null},
			{`ROLE`, "*3\r\n" + bulk("master") + ":0\r\n*0\r\n"},
			{`WAIT 1 0`, ":0\r\n"}, // Redis would wait for ever
			{`FLUSHALL ASYNC`, "+OK\r\n"},
			{`FUNCTION FLUSH`, "+OK\r\n"},
			{`MODULE LIST`, "*0\r\n"},
			{`CLUSTER anything at all`, e("This instance has cluster support disabled")},
		})
	}
	for _, write := range []string{"SET k v", "DEL k", "EXPIRE k 1", "XADD s * a b", "INCR k", "OBJECT ENCODING k", "DUMP k"} {
		name, _, _ := strings.Cut(write, " ")
		if got := c.do(strings.Fields(write)...); !strings.HasPrefix(got, "-ERR unknown command '"+name+"'") {
			t.Errorf("%s: %q", write, got)
		}
	}
}

func TestParseUint(t *testing.T) {
	for s, want := range map[string]uint64{
		"0": 0, "007": 7, "+5": 5, "18446744073709551615": math.MaxUint64, "00018446744073709551615": math.MaxUint64,
	} {
		if n, ok := parseUint([]byte(s)); !ok || n != want {
			t.Errorf("parseUint(%q) = %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{
		"", "+", "-", "-1", "++1", " 1", "1 ", "1x", "0x1", "18446744073709551616", "18446744073709551620", "99999999999999999999999",
	} {
		if n, ok := parseUint([]byte(s)); ok {
			t.Errorf("parseUint(%q) = %d, want no number", s, n)
		}
	}
}

func TestParseRangeID(t *testing.T) {
	const most = uint64(math.MaxUint64)
	for s, want := range map[string]string{
		"-":     "{0 0} false true",
		"+":     fmt.Sprintf("{%d %d} false true", most, most),
		"5":     "{5 77} false true",
		"5-6":   "{5 6} false true",
		"(5-6":  "{5 6} true true",
		"(5":    "{5 77} true true",
		"5-6-7": "", "5-": "", "-5": "", "": "", "(": "", "(-": "", "(+": "", "x": "",
		"18446744073709551616": "", "1-18446744073709551616": "", strings.Repeat("0", 128): "",
	} {
		id, open, ok := parseRangeID([]byte(s), 77)
		if got := fmt.Sprint(id, open, ok); ok != (want != "") || ok && got != want {
			t.Errorf("parseRangeID(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestKeySpec_Finds(t *testing.T) {
	for _, tt := range []struct{ command, want string }{
		{"get a", "[a]"},
		{"mget a b c", "[a b c]"},
		{"memory|usage a samples 5", "[a]"},
		{"eval x 2 a b c", "[a b]"},
		{"eval x 0", "[]"},
		{"eval x 3 a b", "[]"},
		{"eval x 9223372036854775807 a", "[]"},
		{"eval x -1 a", "[]"},
		{"eval x y a", "[]"},
		{"spublish a m", "[a]"},
		{"ssubscribe a b", "[a b]"},
	} {
		name, rest, _ := strings.Cut(tt.command, " ")
		args := request(strings.ReplaceAll(name, "|", " ") + " " + rest)
		if got := fmt.Sprintf("%s", newTable().byFullName(name).keys.find(args)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.command, got, tt.want)
		}
	}
}

func TestReports_AreVerbatimText(t *testing.T) {
	c := startServer(t, 1).dial()
	c.do("HELLO", "3")
	for _, tt := range []struct{ send, want string }{
		{"LATENCY DOCTOR", "not recorded"},
		{"MEMORY DOCTOR", "no keys"},
		{"LOLWUT", "broker ver. 1.2.3, as Redis ver. " + compatVersion + "\n"},
		{"LOLWUT VERSION 5 1 2 3", "Redis ver. "},
	} {
		got := c.do(strings.Fields(tt.send)...)
		if !strings.HasPrefix(got, "=") || !strings.Contains(got, "txt:") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q", tt.send, got)
		}
	}
}

// TestRipples_HaveTheirSize: wherever the message falls in, the picture has its
// rows and columns, and something on it.
func TestRipples_HaveTheirSize(t *testing.T) {
	for x := range pictureColumns {
		for y := range pictureRows {
			rows := strings.Split(strings.TrimSuffix(ripples(x, y), "\n"), "\n")
			if len(rows) != pictureRows || rows[y][x] != '#' {
				t.Fatalf("(%d, %d): %d rows, %q", x, y, len(rows), rows[y])
			}
			for _, row := range rows {
				if len(row) != pictureColumns {
					t.Fatalf("(%d, %d): a row of %d", x, y, len(row))
				}
			}
		}
	}
}
