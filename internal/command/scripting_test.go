package command

import (
	"strconv"
	"strings"
	"testing"
)

func TestIsScript_IgnoresWhiteSpace(t *testing.T) {
	const script = "for i do x end"
	for _, text := range []string{
		script, "for i do\n  x\nend", " \t\r\nfor  i\tdo x end \n\v\f",
	} {
		if !isScript([]byte(text), script) {
			t.Errorf("%q is not recognised", text)
		}
	}
	for _, text := range []string{
		"", " ", "for", "for i do x en", "for i do x endx", "for i do x end x", "fori do x end", "for i do xend", "for i  do y end",
		"x for i do x end", "for i do x end\x00",
	} {
		if isScript([]byte(text), script) {
			t.Errorf("%q is taken for it", text)
		}
	}
}

func TestEval_PublishesAsLaravelDoes(t *testing.T) {
	const script = "for i = 2, #ARGV do\n  redis.call('publish', ARGV[i], ARGV[1])\nend"
	srv := startServer(t, 2)
	sub, c := srv.dial(), srv.dial()
	sub.do("SUBSCRIBE", "a", "b")
	sub.read()
	sub.do("PSUBSCRIBE", "b*")
	for _, tt := range []struct{ args, want string }{
		{"0 payload a nobody b", "$-1\r\n"},
		{"1 a payload b", "$-1\r\n"}, // a is a key, not a channel
		{"0 alone", "$-1\r\n"},
		{"0", "$-1\r\n"},
	} {
		if got := c.do(append([]string{"EVAL", script}, strings.Fields(tt.args)...)...); got != tt.want {
			t.Errorf("EVAL %s: %q", tt.args, got)
		}
	}
	c.do("PUBLISH", "a", "end")
	for i, want := range []string{
		"*3\r\n" + bulk("message") + bulk("a") + bulk("payload"),
		"*3\r\n" + bulk("message") + bulk("b") + bulk("payload"),
		"*4\r\n" + bulk("pmessage") + bulk("b*") + bulk("b") + bulk("payload"),
		"*3\r\n" + bulk("message") + bulk("b") + bulk("payload"),
		"*4\r\n" + bulk("pmessage") + bulk("b*") + bulk("b") + bulk("payload"),
		"*3\r\n" + bulk("message") + bulk("a") + bulk("end"),
	} {
		if got := sub.read(); got != want {
			t.Errorf("message %d: %q, want %q", i, got, want)
		}
	}
	c.do("HELLO", "3")
	if got := c.do("EVAL", script, "0", "payload", "nobody"); got != "_\r\n" {
		t.Errorf("RESP3: %q", got)
	}
}

func TestEval_RefusesOtherScriptsAndTooManyChannels(t *testing.T) {
	c := startServer(t, 1).dial()
	converse(t, c, []turn{
		{`EVAL return 0`, "-" + errNoScripts + "\r\n"},
		{`EVAL "" 0`, "-" + errNoScripts + "\r\n"},
		{`EVAL return 1`, e("Number of keys can't be greater than number of args")},
		{`EVALSHA abc x`, "-" + errNoScript + "\r\n"},
	})
	if !strings.Contains(errNoScripts, publishScript) {
		t.Error("the error does not say which script there is")
	}
	words := []string{"EVAL", publishScript, "0", "payload"}
	for i := range maxNames {
		words = append(words, strconv.Itoa(i))
	}
	if got := c.do(words...); got != "$-1\r\n" {
		t.Errorf("%d channels: %q", maxNames, got)
	}
	if got := c.do(append(words, "x")...); got != "-"+errTooManyNames+"\r\n" {
		t.Errorf("%d channels: %q", maxNames+1, got)
	}
}
