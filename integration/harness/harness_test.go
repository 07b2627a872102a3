package harness

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseValue_EveryTypeAndBack(t *testing.T) {
	for _, wire := range []string{
		"+OK\r\n", "-ERR no\r\n", ":42\r\n", ":-1\r\n", "$5\r\na\r\nbc\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "_\r\n",
		"*0\r\n", "*2\r\n:1\r\n$1\r\nx\r\n", "%1\r\n+k\r\n*1\r\n:2\r\n", "~1\r\n+x\r\n", ">3\r\n$1\r\na\r\n$1\r\nb\r\n:1\r\n",
		",1.5\r\n", "#t\r\n", "(123\r\n", "=7\r\ntxt:abc\r\n", "!3\r\nERR\r\n",
	} {
		v, n, err := ParseValue([]byte(wire + "+next\r\n"))
		if err != nil || n != len(wire) {
			t.Errorf("%q: %d bytes, %v", wire, n, err)
			continue
		}
		if got := string(v.Append(nil)); got != wire {
			t.Errorf("%q came back as %q", wire, got)
		}
		for cut := range len(wire) {
			if _, _, err := ParseValue([]byte(wire[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q: %v, want io.ErrUnexpectedEOF", wire[:cut], err)
			}
		}
	}
	for _, wire := range []string{"x\r\n", "\r\n", "$x\r\n", "$-2\r\n", "*x\r\n", "$1\r\nabc\r\n", strings.Repeat("*1\r\n", 40) + ":1\r\n"} {
		if v, _, err := ParseValue([]byte(wire)); !errors.Is(err, ErrNotRESP) {
			t.Errorf("%q: %v %v, want ErrNotRESP", wire, v, err)
		}
	}
}

func TestParseScripts(t *testing.T) {
	const text = `# a comment
== first
a: SUBSCRIBE x "a b" "" "\x00\"\r\n" \{3*z}
b| PING\r\n

== second
c! *1\r\n$-1\r\n
c~ *1\r\n
d-
`
	scripts, err := ParseScripts(fstest.MapFS{"s": {Data: []byte(text)}}, "s")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range scripts {
		got = append(got, "== "+s.Name)
		for _, step := range s.Steps {
			got = append(got, step.Conn+string("A!~-"[step.How])+string(step.Send))
		}
	}
	want := []string{
		"== first",
		"aA" + string(AppendCommand(nil, "SUBSCRIBE", "x", "a b", "", "\x00\"\r\n", `\{3*z}`)),
		"bAPING\r\n",
		"== second",
		"c!*1\r\n$-1\r\n", "c~*1\r\n", "d-",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, bad := range []string{"a: PING\n", "== x\nPING\n", "== x\na: \"open\n", "== x\na| \\q\n", "== x\na| \\{x*y}\n", "== x\na| \\{3*y\n"} {
		if s, err := ParseScripts(fstest.MapFS{"s": {Data: []byte(bad)}}, "s"); err == nil {
			t.Errorf("%q was read as %v", bad, s)
		}
	}
}

// pipe returns a Conn whose server is the function given, which runs until it
// returns and then closes.
func pipe(t *testing.T, server func(net.Conn)) *Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		server(c)
		c.Close()
	}()
	c, err := Dial(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		l.Close()
		<-done
	})
	return c
}

func TestConn_NextAcrossReads(t *testing.T) {
	c := pipe(t, func(s net.Conn) {
		for _, part := range []string{"$5\r", "\nab", "cde\r\n:", "1\r\n+OK\r\n", "x"} {
			s.Write([]byte(part))
		}
	})
	for _, want := range []string{`"abcde"`, ":1", "+OK"} {
		if v, err := c.Next(); err != nil || v.String() != want {
			t.Errorf("got %v %v, want %s", v, err, want)
		}
	}
	if v, err := c.Next(); !errors.Is(err, ErrNotRESP) {
		t.Errorf("got %v %v, want ErrNotRESP", v, err)
	}
}

// answerPings reads commands and answers PING in the given form until the
// stream ends; before the answers it sends what it is told to.
func answerPings(s net.Conn, before []string, form func(string) string) {
	c := &Conn{tcp: s.(*net.TCPConn), stream: s.(*net.TCPConn)}
	for {
		v, err := c.Next()
		if err != nil {
			return
		}
		var out string
		if len(before) > 0 {
			out, before = before[0], before[1:]
		}
		s.Write([]byte(out + form(v.Elems[1].Text)))
	}
}

func bulk(s string) string { return string(Value{Type: '$', Text: s}.Append(nil)) }

func TestConn_BarrierReturnsWhatWasOwed(t *testing.T) {
	for name, form := range map[string]func(string) string{
		"plain":            bulk,
		"RESP2 subscriber": func(m string) string { return "*2\r\n$4\r\npong\r\n" + bulk(m) },
	} {
		t.Run(name, func(t *testing.T) {
			c := pipe(t, func(s net.Conn) { answerPings(s, []string{"+one\r\n", "+two\r\n"}, form) })
			if got, err := c.Barrier(nil); err != nil || string(got) != "+one\r\n+two\r\n" {
				t.Errorf("got %q %v", got, err)
			}
			if got, err := c.Barrier([]byte("before ")); err != nil || string(got) != "before " {
				t.Errorf("got %q %v", got, err)
			}
		})
	}
}

func TestConn_BarrierOfAClosedConnection(t *testing.T) {
	c := pipe(t, func(s net.Conn) { s.Write([]byte("-ERR bye\r\n")) })
	got, err := c.Barrier(nil)
	if err == nil || c.Ended() == nil || string(got) != "-ERR bye\r\n" {
		t.Errorf("got %q %v, ended %v", got, err, c.Ended())
	}
}

// normalised returns what Normal makes of a reply to words.
func normalised(words, reply string) string {
	step := Step{Conn: "a", Send: AppendCommand(nil, strings.Fields(words)...)}
	return string(Normal(step, true, []byte(reply)))
}

func TestNormal_HidesOnlyWhatIsOpen(t *testing.T) {
	frame := func(kind string, words ...string) string {
		return string(AppendCommand(nil, append([]string{kind}, words...)...))
	}
	unsubscribed := func(names ...string) string {
		var b strings.Builder
		for i, n := range names {
			b.WriteString("*3\r\n" + bulk("unsubscribe") + bulk(n) + ":" + string(rune('0'+len(names)-1-i)) + "\r\n")
		}
		return b.String()
	}
	for _, c := range []struct {
		name, words, a, b string
		same              bool
	}{
		{"order of patterns", "PING", frame("pmessage", "a*", "ab", "1") + frame("pmessage", "*b", "ab", "1"), frame("pmessage", "*b", "ab", "1") + frame("pmessage", "a*", "ab", "1"), true},
		{"order of messages", "PING", frame("pmessage", "a*", "ab", "1") + frame("pmessage", "a*", "ab", "2"), frame("pmessage", "a*", "ab", "2") + frame("pmessage", "a*", "ab", "1"), false},
		{"a pattern twice", "PING", frame("pmessage", "a*", "ab", "1") + frame("pmessage", "a*", "ab", "1"), frame("pmessage", "a*", "ab", "1"), false},
		{"message before the pattern's", "PING", frame("message", "ab", "1") + frame("pmessage", "a*", "ab", "1"), frame("pmessage", "a*", "ab", "1") + frame("message", "ab", "1"), false},
		{"order of unsubscribe from all", "UNSUBSCRIBE", unsubscribed("x", "y"), unsubscribed("y", "x"), true},
		{"order of unsubscribe by name", "UNSUBSCRIBE x y", unsubscribed("x", "y"), unsubscribed("y", "x"), false},
		{"counts of unsubscribe", "UNSUBSCRIBE", unsubscribed("x", "y"), unsubscribed("x") + unsubscribed("y"), false},
		{"own message before the reply", "PUBLISH x 1", ">3\r\n" + bulk("message") + bulk("x") + bulk("1") + ":1\r\n", ":1\r\n>3\r\n" + bulk("message") + bulk("x") + bulk("1"), true},
		{"order of channels", "PUBSUB CHANNELS", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n", true},
		{"order of counts", "PUBSUB NUMSUB", "*2\r\n$1\r\na\r\n:1\r\n", "*2\r\n:1\r\n$1\r\na\r\n", false},
		{"client id", "CLIENT ID", ":7\r\n", ":8\r\n", true},
		{"any other number", "PUBSUB NUMPAT", ":7\r\n", ":8\r\n", false},
		{"age of a client", "CLIENT LIST", bulk("id=1 name=x age=1 sub=2\n"), bulk("id=2 name=x age=9 sub=2\n"), true},
		{"subscriptions of a client", "CLIENT LIST", bulk("id=1 name=x age=1 sub=2\n"), bulk("id=1 name=x age=1 sub=3\n"), false},
		{"version", "HELLO 3", "%1\r\n" + bulk("version") + bulk("7.0.15"), "%1\r\n" + bulk("version") + bulk("8.0.6"), true},
		{"protocol", "HELLO 3", "%1\r\n" + bulk("proto") + ":3\r\n", "%1\r\n" + bulk("proto") + ":2\r\n", false},
	} {
		if got := normalised(c.words, c.a) == normalised(c.words, c.b); got != c.same {
			t.Errorf("%s: taken for the same: %v", c.name, got)
		}
	}
}

func TestConn_FillAndDeadline(t *testing.T) {
	release := make(chan struct{})
	c := pipe(t, func(s net.Conn) {
		s.Write([]byte("abc"))
		<-release
	})
	if !c.Fill(3, time.Now().Add(Patience)) || string(c.Received()) != "abc" {
		t.Errorf("received %q", c.Received())
	}
	if c.Fill(4, time.Now().Add(time.Millisecond)) || c.Ended() != nil {
		t.Errorf("a deadline that passed: received %q, ended %v", c.Received(), c.Ended())
	}
	close(release)
	if got, err := c.UntilClosed(); err != nil || string(got) != "abc" {
		t.Errorf("%q %v", got, err)
	}
}
