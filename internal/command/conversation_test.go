package command

import (
	"fmt"
	"strings"
	"testing"
)

// A turn of a conversation: what is sent, split at blanks, and the reply.
type turn struct{ send, want string }

// converse plays a conversation on one connection. A word %q in Go syntax may
// stand for a word with blanks or special bytes.
func converse(t *testing.T, c *client, turns []turn) {
	t.Helper()
	for _, turn := range turns {
		var words []string
		for _, w := range strings.Split(turn.send, " ") {
			if strings.HasPrefix(w, `"`) {
				if _, err := fmt.Sscanf(w, "%q", &w); err != nil {
					t.Fatalf("%s: %v", turn.send, err)
				}
			}
			words = append(words, w)
		}
		if got := c.do(words...); got != turn.want {
			t.Errorf("%s\n got %q\nwant %q", turn.send, got, turn.want)
		}
	}
}

func e(text string) string { return "-ERR " + text + "\r\n" }

func arity(name string) string {
	return e("wrong number of arguments for '" + name + "' command")
}

// TestErrors_EqualRedis: the replies were taken from redis-server 7.0.15;
// where 8.0 answers otherwise the comment says so.
func TestErrors_EqualRedis(t *testing.T) {
	a128, a126, a125 := strings.Repeat("a", 128), strings.Repeat("a", 126), strings.Repeat("a", 125)
	unknown := "unknown command '%s', with args beginning with: %s"
	converse(t, startServer(t, 1).dial(), []turn{
		{`FOO`, e(fmt.Sprintf(unknown, "FOO", ""))},
		{`foo a b`, e(fmt.Sprintf(unknown, "foo", "'a' 'b' "))},
		{`"" a`, e(fmt.Sprintf(unknown, "", "'a' "))},
		{`"FOO\x00x" "a\x00b" c`, e(fmt.Sprintf(unknown, "FOO", "'a' 'c' "))},
		{`"FO\r\nO" "a\nb"`, e(fmt.Sprintf(unknown, "FO  O", "'a b' "))},
		{`ping|x`, e(fmt.Sprintf(unknown, "ping|x", ""))},
		{`pubsub|numsub`, e(fmt.Sprintf(unknown, "pubsub|numsub", ""))},
		{a128 + `z ` + a128 + `z b`, e(fmt.Sprintf(unknown, a128, "'"+a128+"' "))},
		{`F ` + a126 + ` b`, e(fmt.Sprintf(unknown, "F", "'"+a126+"' "))},
		{`F ` + a125 + ` b`, e(fmt.Sprintf(unknown, "F", "'"+a125+"' "))},
		{`F ` + a125[1:] + ` bcd`, e(fmt.Sprintf(unknown, "F", "'"+a125[1:]+"' 'b' "))},
		{`F` + strings.Repeat(` ""`, 60), e(fmt.Sprintf(unknown, "F", strings.Repeat("'' ", 43)))},
		{`auth x`, e("AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")},

		{`PUBSUB`, arity("pubsub")},
		{`PUBSUB FOO`, e("unknown subcommand 'FOO'. Try PUBSUB HELP.")},
		{`pubsub ` + a128 + `z`, e("unknown subcommand '" + a128 + "'. Try PUBSUB HELP.")},
		{`PUBSUB "FOO\x00bar\r\n"`, e("unknown subcommand 'FOO'. Try PUBSUB HELP.")},
		{`PUBSUB "F\r\nO"`, e("unknown subcommand 'F  O'. Try PUBSUB HELP.")},
		{`CLIENT MAINT_NOTIFICATIONS on`, e("unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.")},
		{`PUBSUB NUMPAT x`, arity("pubsub|numpat")},
		{`PUBSUB HELP x`, arity("pubsub|help")},
		{`PUBSUB CHANNELS a b`, e("unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.")},
		{`PUBSUB shardchannels a b`, e("unknown subcommand or wrong number of arguments for 'shardchannels'. Try PUBSUB HELP.")},
		{`SUBSCRIBE`, arity("subscribe")},
		{`PSUBSCRIBE`, arity("psubscribe")},
		{`SSUBSCRIBE`, arity("ssubscribe")},
		{`PUBLISH a`, arity("publish")},
		{`PUBLISH a b c`, arity("publish")},
		{`SPUBLISH a`, arity("spublish")},
		{`ECHO`, arity("echo")},
		{`PING a b`, arity("ping")},
		{`TIME x`, arity("time")},
		{`RESET x`, arity("reset")},

		{`SELECT x`, e("value is not an integer or out of range")},
		{`SELECT 01`, e("value is not an integer or out of range")},
		{`SELECT ""`, e("value is not an integer or out of range")},
		{`SELECT 16`, e("DB index is out of range")},
		{`SELECT -1`, e("DB index is out of range")},
		{`SELECT 99999999999999`, e("value is out of range, value must between -2147483648 and 2147483647")},
		{`SELECT 9999999999999999999999`, e("value is not an integer or out of range")},

		{`CLIENT`, arity("client")},
		{`CLIENT ID x`, arity("client|id")},
		{`CLIENT SETNAME`, arity("client|setname")},
		{`CLIENT SETNAME "a\u0020b"`, e("Client names cannot contain spaces, newlines or special characters.")},
		{`CLIENT SETNAME "\x7f"`, e("Client names cannot contain spaces, newlines or special characters.")},
		{`CLIENT SETNAME "\xc3"`, e("Client names cannot contain spaces, newlines or special characters.")},
		{`CLIENT SETINFO LIB-VER "a\u0020b"`, e("LIB-VER cannot contain spaces, newlines or special characters.")},
		{`CLIENT SETINFO lib-name "a\nb"`, e("lib-name cannot contain spaces, newlines or special characters.")},
		{`CLIENT SETINFO lib-date x`, e("Unrecognized option 'lib-date'")},
		{`CLIENT SETINFO lib-name`, arity("client|setinfo")},
		{`CLIENT LIST FOO`, e("syntax error")},
		{`CLIENT LIST TYPE`, e("syntax error")},
		{`CLIENT LIST TYPE foo`, e("Unknown client type 'foo'")},
		{`CLIENT LIST TYPE normal x`, e("syntax error")},
		{`CLIENT LIST ID`, e("syntax error")},
		{`CLIENT LIST ID 1 x`, e("Invalid client ID")},

		{`CONFIG`, arity("config")},
		{`CONFIG GET`, arity("config|get")},
		{`CONFIG FOO`, e("unknown subcommand 'FOO'. Try CONFIG HELP.")},

		{`COMMAND COUNT x`, arity("command|count")},
		{`COMMAND FOO`, e("unknown subcommand 'FOO'. Try COMMAND HELP.")},
		{`COMMAND LIST FOO`, e("syntax error")},
		{`COMMAND LIST FILTERBY`, e("syntax error")},
		{`COMMAND LIST FILTERBY X`, e("syntax error")},
		{`COMMAND LIST FILTERBY X y`, e("syntax error")},
		{`COMMAND LIST FILTERBY PATTERN pub* x`, e("syntax error")},
		{`COMMAND GETKEYS`, arity("command|getkeys")},
		{`COMMAND GETKEYS PING`, arity("command|getkeys")},
		{`COMMAND GETKEYS PUBLISH a b`, e("The command has no key arguments")},
		{`COMMAND GETKEYS PUBSUB numsub`, e("The command has no key arguments")},
		{`COMMAND GETKEYS PUBSUB nope`, e("Invalid command specified")},
		{`COMMAND GETKEYS nope a`, e("Invalid command specified")},
		{`COMMAND GETKEYSANDFLAGS PUBLISH a b`, e("The command has no key arguments")},

		{`HELLO x`, e("Protocol version is not an integer or out of range")},
		{`HELLO 99999999999999999999`, e("Protocol version is not an integer or out of range")},
		{`HELLO 1`, "-NOPROTO unsupported protocol version\r\n"},
		{`HELLO 4 FOO`, "-NOPROTO unsupported protocol version\r\n"},
		{`HELLO 3 FOO AUTH`, e("Syntax error in HELLO option 'FOO'")},
		{`HELLO 3 AUTH a`, e("Syntax error in HELLO option 'AUTH'")},
		{`HELLO 3 SETNAME`, e("Syntax error in HELLO option 'SETNAME'")},
		{`HELLO 3 AUTH bob x`, "-WRONGPASS invalid username-password pair or user is disabled.\r\n"},
		// 7.0.15 logs in before it looks at the name.
		{`HELLO 3 AUTH bob x SETNAME "a\u0020b"`, e("Client names cannot contain spaces, newlines or special characters.")},
		// Nothing above changed the protocol: this null is RESP2's.
		{`CLIENT GETNAME`, "$-1\r\n"},
	})
}

func TestSubscriberMode_GatesRESP2Only(t *testing.T) {
	gate := func(name string) string {
		return e("Can't execute '" + name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
	}
	srv := startServer(t, 1)
	c := srv.dial()
	converse(t, c, []turn{
		{`SSUBSCRIBE s`, "*3\r\n$10\r\nssubscribe\r\n$1\r\ns\r\n:1\r\n"},
		{`FOO`, e("unknown command 'FOO', with args beginning with: ")},
		{`ECHO`, arity("echo")},
		{`eChO k`, gate("echo")},
		{`CLIENT FOO`, e("unknown subcommand 'FOO'. Try CLIENT HELP.")},
		{`CLIENT`, arity("client")},
		{`client id`, gate("client|id")},
		{`CONFIG GET port`, gate("config|get")},
		{`COMMAND`, gate("command")},
		{`HELLO 3`, gate("hello")},
		{`PUBLISH a b`, gate("publish")},
		{`PUBSUB NUMPAT`, gate("pubsub|numpat")},
		{`PING`, "*2\r\n$4\r\npong\r\n$0\r\n\r\n"},
		{`ping hello`, "*2\r\n$4\r\npong\r\n$5\r\nhello\r\n"},
		{`SUNSUBSCRIBE`, "*3\r\n$12\r\nsunsubscribe\r\n$1\r\ns\r\n:0\r\n"},
		{`PING`, "+PONG\r\n"},
		{`PING hello`, "$5\r\nhello\r\n"},
	})
	if got := c.do("HELLO", "3"); !strings.HasPrefix(got, "%7\r\n") {
		t.Fatalf("HELLO 3: %q", got)
	}
	converse(t, c, []turn{
		{`PSUBSCRIBE p*`, ">3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:1\r\n"},
		{`PING`, "+PONG\r\n"},
		{`PING hello`, "$5\r\nhello\r\n"},
		{`CLIENT GETNAME`, "_\r\n"},
		{`PUBSUB NUMPAT`, ":1\r\n"},
	})
}

func TestPubSub_CommandsReachTheStore(t *testing.T) {
	srv := startServer(t, 2)
	sub, other := srv.dial(), srv.dial()
	converse(t, sub, []turn{
		{`SUBSCRIBE a`, "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"},
		{`SUBSCRIBE b`, "*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"},
		{`PSUBSCRIBE a*`, "*3\r\n$10\r\npsubscribe\r\n$2\r\na*\r\n:3\r\n"},
		{`SSUBSCRIBE s`, "*3\r\n$10\r\nssubscribe\r\n$1\r\ns\r\n:1\r\n"},
	})
	converse(t, other, []turn{
		{`PUBSUB NUMSUB`, "*0\r\n"},
		{`PUBSUB NUMSUB a none a`, "*6\r\n$1\r\na\r\n:1\r\n$4\r\nnone\r\n:0\r\n$1\r\na\r\n:1\r\n"},
		{`PUBSUB SHARDNUMSUB s a`, "*4\r\n$1\r\ns\r\n:1\r\n$1\r\na\r\n:0\r\n"},
		{`PUBSUB NUMPAT`, ":1\r\n"},
		{`PUBSUB CHANNELS [b-z]`, "*1\r\n$1\r\nb\r\n"},
		{`PUBSUB CHANNELS ""`, "*0\r\n"},
		{`PUBSUB SHARDCHANNELS`, "*1\r\n$1\r\ns\r\n"},
		{`PUBSUB SHARDCHANNELS a`, "*0\r\n"},
		{`PUBLISH a hi`, ":2\r\n"},
		{`PUBLISH none hi`, ":0\r\n"},
		{`SPUBLISH s hey`, ":1\r\n"},
		{`SPUBLISH a hey`, ":0\r\n"},
	})
	if got := len(decode(t, other.do("PUBSUB", "CHANNELS")).([]value)); got != 2 {
		t.Errorf("%d channels, want 2", got)
	}
	for _, want := range []string{
		"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n",
		"*4\r\n$8\r\npmessage\r\n$2\r\na*\r\n$1\r\na\r\n$2\r\nhi\r\n",
		"*3\r\n$8\r\nsmessage\r\n$1\r\ns\r\n$3\r\nhey\r\n",
	} {
		if got := sub.read(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	converse(t, sub, []turn{
		{`UNSUBSCRIBE a`, "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:2\r\n"},
		{`PUNSUBSCRIBE`, "*3\r\n$12\r\npunsubscribe\r\n$2\r\na*\r\n:1\r\n"},
		{`PUNSUBSCRIBE`, "*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:1\r\n"},
		{`UNSUBSCRIBE`, "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n"},
	})
	converse(t, other, []turn{
		{`PUBLISH a hi`, ":0\r\n"},
		{`PUBSUB NUMPAT`, ":0\r\n"},
		{`PUBSUB CHANNELS`, "*0\r\n"},
	})
}

func TestReset_MakesTheConnectionAsGoodAsNew(t *testing.T) {
	srv := startServer(t, 2)
	c, other := srv.dial(), srv.dial()
	c.do("HELLO", "3", "SETNAME", "bob")
	converse(t, c, []turn{
		{`CLIENT SETINFO lib-name lib`, "+OK\r\n"},
		{`CLIENT SETINFO LIB-VER 1.0`, "+OK\r\n"},
		{`SELECT 3`, "+OK\r\n"},
		{`SUBSCRIBE a`, ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"},
		{`RESET`, "+RESET\r\n"},
		{`CLIENT GETNAME`, "$-1\r\n"},
	})
	line := text(t, c.do("CLIENT", "INFO"))
	for _, field := range []string{" name= ", " db=0 ", " sub=0 ", " flags=N ", " resp=2 ", " lib-name=lib ", " lib-ver=1.0 "} {
		if !strings.Contains(line, field) {
			t.Errorf("no %q in %q", field, line)
		}
	}
	converse(t, other, []turn{{`PUBLISH a x`, ":0\r\n"}})
}

func TestHello_Greets(t *testing.T) {
	srv := startServer(t, 1)
	c := srv.dial()
	body := func(proto int) string {
		return bulk("server") + bulk("redis") + bulk("version") + bulk(compatVersion) +
			bulk("proto") + fmt.Sprintf(":%d\r\n", proto) + bulk("id") + ":1\r\n" +
			bulk("mode") + bulk("standalone") + bulk("role") + bulk("master") + bulk("modules") + "*0\r\n"
	}
	converse(t, c, []turn{
		{`HELLO`, "*14\r\n" + body(2)},
		{`hello 3 auth default anything setname bob`, "%7\r\n" + body(3)},
		{`HELLO`, "%7\r\n" + body(3)},
		{`CLIENT GETNAME`, bulk("bob")},
		{`HELLO 2 SETNAME ""`, "*14\r\n" + body(2)},
		{`CLIENT GETNAME`, "$-1\r\n"},
	})
}

func TestClientName(t *testing.T) {
	converse(t, startServer(t, 1).dial(), []turn{
		{`CLIENT GETNAME`, "$-1\r\n"},
		{`CLIENT SETNAME ""`, "+OK\r\n"},
		{`CLIENT SETNAME x!~`, "+OK\r\n"},
		{`CLIENT GETNAME`, bulk("x!~")},
		{`CLIENT SETNAME ""`, "+OK\r\n"},
		{`CLIENT GETNAME`, "$-1\r\n"},
		{`CLIENT ID`, ":1\r\n"},
	})
}

func TestConnection_Simple(t *testing.T) {
	converse(t, startServer(t, 1).dial(), []turn{
		{`PING`, "+PONG\r\n"},
		{`pInG "\x00\r\n"`, bulk("\x00\r\n")},
		{`ECHO "\xff\x00"`, bulk("\xff\x00")},
		{`SELECT 15`, "+OK\r\n"},
		{`SELECT 0`, "+OK\r\n"},
		{`UNSUBSCRIBE`, "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n"},
		{`SUNSUBSCRIBE x`, "*3\r\n$12\r\nsunsubscribe\r\n$1\r\nx\r\n:0\r\n"},
	})
}

func TestConfigGet(t *testing.T) {
	c := startServer(t, 1).dial()
	converse(t, c, []turn{
		{`CONFIG GET nope`, "*0\r\n"},
		{`CONFIG GET port PORT p*`, "*4\r\n" + bulk("port") + bulk("6379") + bulk("proto-max-bulk-len") + bulk("536870912")},
		{`CONFIG GET TIMEOUT`, "*2\r\n" + bulk("TIMEOUT") + bulk("0")},
		{`CONFIG GET timeout port`, "*4\r\n" + bulk("port") + bulk("6379") + bulk("timeout") + bulk("0")},
	})
	c.do("HELLO", "3")
	converse(t, c, []turn{
		{`CONFIG GET port`, "%1\r\n" + bulk("port") + bulk("6379")},
		{`CONFIG GET nope`, "%0\r\n"},
	})
}

func TestQuit_AnswersThenCloses(t *testing.T) {
	srv := startServer(t, 1)
	sub, c := srv.dial(), srv.dial()
	sub.do("SUBSCRIBE", "a")
	c.write(encode("PING") + encode("QUIT", "now") + encode("PING") + encode("PUBLISH", "a", "x"))
	for _, want := range []string{"+PONG\r\n", "+OK\r\n"} {
		if got := c.read(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	c.expectClosed()
	if got := sub.do("PING", "done"); got != "*2\r\n$4\r\npong\r\n$4\r\ndone\r\n" {
		t.Errorf("a command behind QUIT was run: %q", got)
	}
}

func TestHTTP_IsClosedWithoutAWord(t *testing.T) {
	for _, request := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\n\r\nPUBLISH a pwned\r\n",
		"EHLO x\r\nMAIL FROM:<a@b>\r\nPUBLISH a pwned\r\n",
		"hOsT: x\r\nPUBLISH a pwned\r\n",
	} {
		srv := startServer(t, 1)
		sub, c := srv.dial(), srv.dial()
		sub.do("SUBSCRIBE", "a")
		c.write(request)
		c.expectClosed()
		if got := sub.do("PING", "done"); got != "*2\r\n$4\r\npong\r\n$4\r\ndone\r\n" {
			t.Errorf("a command behind %q was run: %q", request, got)
		}
	}
}

func TestTime_IsSecondsAndMicroseconds(t *testing.T) {
	c := startServer(t, 1).dial()
	list := decode(t, c.do("TIME")).([]value)
	var seconds, micros int64
	if _, err := fmt.Sscanf(fmt.Sprintln(list[0], list[1]), "%d %d", &seconds, &micros); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || seconds < 1_700_000_000 || micros < 0 || micros >= 1e6 {
		t.Errorf("TIME: %v", list)
	}
}
