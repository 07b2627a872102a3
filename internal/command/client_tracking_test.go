package command

import (
	"strconv"
	"strings"
	"testing"
)

func TestClientTracking_States(t *testing.T) {
	info := func(redirect string, flags, prefixes []string) string {
		list := func(words []string) string {
			out := "*" + strconv.Itoa(len(words)) + "\r\n"
			for _, w := range words {
				out += bulk(w)
			}
			return out
		}
		return "*6\r\n" + bulk("flags") + list(flags) + bulk("redirect") + ":" + redirect + "\r\n" + bulk("prefixes") + list(prefixes)
	}
	srv := startServer(t, 3)
	other := srv.dial() // id 1, on another shard
	other.do("PING")
	c := srv.dial()
	converse(t, c, []turn{
		{`CLIENT TRACKINGINFO`, info("-1", []string{"off"}, nil)},
		{`CLIENT GETREDIR`, ":-1\r\n"},
		{`CLIENT TRACKING OFF`, "+OK\r\n"},
		{`CLIENT TRACKING ON OPTIN`, "+OK\r\n"}, // what rueidis sends
		{`CLIENT TRACKINGINFO`, info("0", []string{"on", "optin"}, nil)},
		{`CLIENT GETREDIR`, ":0\r\n"},
		{`CLIENT CACHING yes`, "+OK\r\n"},
		{`CLIENT TRACKING ON REDIRECT 1 NOLOOP`, "+OK\r\n"},
		{`CLIENT TRACKINGINFO`, info("1", []string{"on", "noloop"}, nil)},
		{`CLIENT GETREDIR`, ":1\r\n"},
		{`CLIENT TRACKING ON REDIRECT 1 REDIRECT 1`, e("A client can only redirect to a single other client")},
		{`CLIENT TRACKING ON REDIRECT 1 FOO`, e("syntax error")},
		{`CLIENT TRACKING ON REDIRECT 99 FOO`, e("The client ID you want redirect to does not exist")},
		{`CLIENT TRACKING FOO REDIRECT 1`, e("syntax error")},
		{`CLIENT TRACKING ON REDIRECT 1 BCAST`, "-" + errSwitchBCAST + "\r\n"},
		{`CLIENT GETREDIR`, ":1\r\n"},
		{`CLIENT TRACKING OFF REDIRECT 1`, "+OK\r\n"},
		{`CLIENT TRACKINGINFO`, info("-1", []string{"off"}, nil)},
		{`CLIENT TRACKING ON BCAST PREFIX b PREFIX a`, "+OK\r\n"},
		{`CLIENT TRACKING ON BCAST PREFIX c`, "+OK\r\n"},
		{`CLIENT TRACKINGINFO`, info("0", []string{"on", "bcast"}, []string{"a", "b", "c"})},
	})
	line := parseClients(t, text(t, c.do("CLIENT", "INFO")))[0]
	if line["flags"] != "tB" || line["redir"] != "0" {
		t.Errorf("flags=%s redir=%s", line["flags"], line["redir"])
	}
	c.do("HELLO", "3")
	if got := c.do("CLIENT", "TRACKINGINFO"); !strings.HasPrefix(got, "%3\r\n"+bulk("flags")+"~2\r\n"+bulk("on")) {
		t.Errorf("RESP3: %q", got)
	}
}

// The turns are what redis-server 7.0.15 answers.
func TestClientCaching_LastsUntilAnotherCommand(t *testing.T) {
	info := func(flags ...string) string {
		out := "*6\r\n" + bulk("flags") + "*" + strconv.Itoa(len(flags)) + "\r\n"
		for _, f := range flags {
			out += bulk(f)
		}
		return out + bulk("redirect") + ":0\r\n" + bulk("prefixes") + "*0\r\n"
	}
	srv := startServer(t, 1)
	converse(t, srv.dial(), []turn{
		{`CLIENT TRACKING ON OPTIN`, "+OK\r\n"},
		{`CLIENT CACHING YES`, "+OK\r\n"},
		{`CLIENT TRACKINGINFO`, info("on", "optin", "caching-yes")},
		{`CLIENT TRACKINGINFO`, info("on", "optin", "caching-yes")},
		{`PING`, "+PONG\r\n"},
		{`CLIENT TRACKINGINFO`, info("on", "optin")},
		{`CLIENT CACHING YES`, "+OK\r\n"},
		{`NONSENSE`, e("unknown command 'NONSENSE', with args beginning with: ")},
		{`CLIENT TRACKINGINFO`, info("on", "optin")},
		{`CLIENT CACHING YES`, "+OK\r\n"},
		{`CLIENT TRACKING OFF`, "+OK\r\n"},
		{`CLIENT TRACKING ON OPTOUT`, "+OK\r\n"},
		{`CLIENT TRACKINGINFO`, info("on", "optout")},
		{`CLIENT CACHING NO`, "+OK\r\n"},
		{`CLIENT TRACKINGINFO`, info("on", "optout", "caching-no")},
	})
}

func TestClientTracking_IsBounded(t *testing.T) {
	c := startServer(t, 1).dial()
	prefixes := func(n int, size int) []string {
		words := []string{"CLIENT", "TRACKING", "ON", "BCAST"}
		for i := range n {
			p := strconv.Itoa(1000 + i)
			words = append(words, "PREFIX", p+strings.Repeat("x", size-len(p)))
		}
		return words
	}
	tooMany := "-" + errTooManyTracked + "\r\n"
	for _, tt := range []struct {
		n, size int
		want    string
	}{
		{maxPrefixes + 1, 4, tooMany},
		{2, maxPrefixBytes, tooMany},
		{maxPrefixes, 4, "+OK\r\n"},
	} {
		if got := c.do(prefixes(tt.n, tt.size)...); got != tt.want {
			t.Errorf("%d prefixes of %d bytes: %q", tt.n, tt.size, got)
		}
	}
	// One by one as well.
	if got := c.do("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "z"); got != tooMany {
		t.Errorf("one more: %q", got)
	}
	c.do("CLIENT", "TRACKING", "OFF")
	for i, want := range []string{"+OK\r\n", "+OK\r\n", tooMany} {
		p := strconv.Itoa(i) + strings.Repeat("x", maxPrefixBytes/2-1)
		if got := c.do("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", p); got != want {
			t.Errorf("long prefix %d: %q, want %q", i, got, want)
		}
	}
}

func TestClientSwitches_AreListedAndReset(t *testing.T) {
	c := startServer(t, 1).dial()
	flags := func() string { return parseClients(t, text(t, c.do("CLIENT", "INFO")))[0]["flags"] }
	converse(t, c, []turn{
		{`CLIENT NO-EVICT on`, "+OK\r\n"},
		{`CLIENT NO-TOUCH ON`, "+OK\r\n"},
		{`CLIENT NO-TOUCH maybe`, e("syntax error")},
		{`CLIENT TRACKING ON`, "+OK\r\n"},
		{`CLIENT SETINFO LIB-NAME lib`, "+OK\r\n"},
	})
	if got := flags(); got != "teT" {
		t.Errorf("flags=%s, want teT", got)
	}
	converse(t, c, []turn{{`CLIENT NO-TOUCH off`, "+OK\r\n"}})
	if got := flags(); got != "te" {
		t.Errorf("flags=%s, want te", got)
	}
	c.do("RESET")
	if got := parseClients(t, text(t, c.do("CLIENT", "INFO")))[0]; got["flags"] != "N" || got["lib-name"] != "lib" || got["redir"] != "-1" {
		t.Errorf("after RESET: %v", got)
	}
	converse(t, c, []turn{{`CLIENT NO-EVICT OFF`, "+OK\r\n"}})
}
