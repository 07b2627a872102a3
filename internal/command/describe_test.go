package command

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestCommandList_Filters(t *testing.T) {
	c := startServer(t, 1).dial()
	for _, tt := range []struct{ send, want string }{
		{"FILTERBY MODULE nope", ""},
		{"FILTERBY ACLCAT nope", ""},
		{"filterby aclcat PubSub", "subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe publish spublish " +
			"pubsub|channels pubsub|numpat pubsub|numsub pubsub|shardchannels pubsub|shardnumsub"},
		{"FILTERBY PATTERN PUB*", "publish pubsub pubsub|channels pubsub|numpat pubsub|numsub pubsub|shardchannels pubsub|shardnumsub pubsub|slow pubsub|stats pubsub|subscribers pubsub|help"},
		{"FILTERBY ACLCAT read", "lolwut dbsize memory|usage exists ttl pttl type keys scan randomkey get mget strlen xrange xlen"},
		{"FILTERBY ACLCAT write", "flushall flushdb function|flush"},
		{"FILTERBY ACLCAT scripting", "eval evalsha function|flush function|help"},
	} {
		got := words(t, c.do(append([]string{"COMMAND", "LIST"}, strings.Fields(tt.send)...)...))
		if strings.Join(got, " ") != tt.want {
			t.Errorf("COMMAND LIST %s:\n got %v\nwant %s", tt.send, got, tt.want)
		}
	}
	all := words(t, c.do("COMMAND", "LIST"))
	if want := len(newTable().rows); len(all) != want {
		t.Errorf("COMMAND LIST has %d names, want %d", len(all), want)
	}
}

func words(t *testing.T, raw string) []string {
	t.Helper()
	var out []string
	for _, v := range decode(t, raw).([]value) {
		out = append(out, v.(string))
	}
	return out
}

func TestCommand_CountsAndNames(t *testing.T) {
	c := startServer(t, 1).dial()
	commands := newTable().commands
	if got := decode(t, c.do("COMMAND", "COUNT")); got != int64(len(commands)) {
		t.Errorf("COMMAND COUNT: %v, want %d", got, len(commands))
	}
	bare := c.do("COMMAND")
	if c.do("COMMAND", "INFO") != bare {
		t.Error("COMMAND INFO without names differs from COMMAND")
	}
	for i, v := range decode(t, bare).([]value) {
		if name := v.([]value)[0]; name != commands[i].name {
			t.Errorf("command %d is %v, want %s", i, name, commands[i].name)
		}
	}
	got := decode(t, c.do("COMMAND", "INFO", "nope", "PUBSUB|NumSub", "ping|x")).([]value)
	if len(got) != 3 || got[0] != nil || got[2] != nil || got[1].([]value)[0] != "pubsub|numsub" {
		t.Errorf("COMMAND INFO: %v", got)
	}
}

// TestCommandDocs_ProtocolsAgree: RESP2 is RESP3 with maps as flat arrays.
func TestCommandDocs_ProtocolsAgree(t *testing.T) {
	srv := startServer(t, 1)
	c2, c3 := srv.dial(), srv.dial()
	c3.do("HELLO", "3")
	docs2 := decode(t, c2.do("COMMAND", "DOCS"))
	docs3 := decode(t, c3.do("COMMAND", "DOCS"))
	if !reflect.DeepEqual(docs2, flatten(docs3)) {
		t.Errorf("RESP2 %v\nRESP3 %v", docs2, docs3)
	}
	top := docs3.(pairs)
	if want := len(newTable().commands); len(top) != want {
		t.Errorf("%d entries, want %d", len(top), want)
	}
	for _, entry := range top {
		checkDocs(t, entry[0].(string), entry[1].(pairs))
	}
}

func checkDocs(t *testing.T, name string, docs pairs) {
	t.Helper()
	var keys []string
	for _, field := range docs {
		keys = append(keys, field[0].(string))
		switch field[0] {
		case "subcommands":
			for _, sub := range field[1].(pairs) {
				if !strings.HasPrefix(sub[0].(string), name+"|") {
					t.Errorf("%s has subcommand %v", name, sub[0])
				}
				checkDocs(t, sub[0].(string), sub[1].(pairs))
			}
		case "arguments":
			for _, a := range field[1].([]value) {
				if a := a.(pairs); a[0][0] != "name" || a[1][0] != "type" {
					t.Errorf("%s: argument %v", name, a)
				}
			}
		}
	}
	if !slices.Equal(keys[:4], []string{"summary", "since", "group", "complexity"}) {
		t.Errorf("%s: fields %v", name, keys)
	}
}

func TestCommandDocs_Names(t *testing.T) {
	c := startServer(t, 1).dial()
	got := decode(t, c.do("COMMAND", "DOCS", "ping", "nope", "PUBSUB|numsub")).([]value)
	if len(got) != 4 || got[0] != "ping" || got[2] != "pubsub|numsub" {
		t.Errorf("COMMAND DOCS: %v", got)
	}
	want := "*2\r\n" + bulk("ping") + "*10\r\n" +
		bulk("summary") + bulk("Answers PONG, or the message.") + bulk("since") + bulk("1.0.0") +
		bulk("group") + bulk("connection") + bulk("complexity") + bulk("O(1)") +
		bulk("arguments") + "*1\r\n*8\r\n" + bulk("name") + bulk("message") + bulk("type") + bulk("string") +
		bulk("display_text") + bulk("message") + bulk("flags") + "*1\r\n+optional\r\n"
	if raw := c.do("COMMAND", "DOCS", "ping"); raw != want {
		t.Errorf("COMMAND DOCS ping:\n got %q\nwant %q", raw, want)
	}
}

// TestNames_AreBounded: the answer may not be sized by a million-word request.
func TestNames_AreBounded(t *testing.T) {
	if !strings.Contains(errTooManyNames, " "+strconv.Itoa(maxNames)+" ") {
		t.Errorf("%q does not say %d", errTooManyNames, maxNames)
	}
	c := startServer(t, 1).dial()
	for _, prefix := range []string{"COMMAND INFO", "COMMAND DOCS", "CONFIG GET", "CLIENT LIST ID"} {
		words := strings.Fields(prefix)
		for range maxNames {
			words = append(words, "1")
		}
		if got := c.do(words...); strings.HasPrefix(got, "-") {
			t.Errorf("%s with %d names: %.80q", prefix, maxNames, got)
		}
		if got := c.do(append(words, "1")...); got != "-"+errTooManyNames+"\r\n" {
			t.Errorf("%s with %d names: %.80q", prefix, maxNames+1, got)
		}
	}
}
