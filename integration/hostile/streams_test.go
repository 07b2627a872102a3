package hostile

import (
	"fmt"
	"strconv"
	"strings"

	"broker/integration/harness"
)

// A stream is what one client sends before it ends its side.
type stream struct {
	name  string
	bytes []byte
	// open says that the client does not end its side: redis-server drops what
	// it still owes when it sees that end. The stream ends in QUIT.
	open bool
}

// wellFormed are the commands that are cut short and of which bits are
// flipped. They need nothing of a server but pub/sub and an empty keyspace,
// and none of their replies depends on the time or on other clients.
var wellFormed = [][]string{
	{"PING"}, {"PING", "hello"}, {"ECHO", "hi"}, {"SELECT", "0"}, {"QUIT"}, {"RESET"},
	{"SUBSCRIBE", "a"}, {"SUBSCRIBE", "a", "b"}, {"UNSUBSCRIBE"}, {"UNSUBSCRIBE", "a"},
	{"PSUBSCRIBE", "a*"}, {"PUNSUBSCRIBE"}, {"PUNSUBSCRIBE", "x?"},
	{"SSUBSCRIBE", "s"}, {"SUNSUBSCRIBE"}, {"SUNSUBSCRIBE", "s"},
	{"PUBLISH", "zulu", "message"}, {"SPUBLISH", "zulu", "m"}, {"PUBLISH", "zulu", ""},
	{"PUBSUB", "NUMPAT"}, {"PUBSUB", "NUMSUB", "zz"}, {"PUBSUB", "SHARDNUMSUB", "zz"},
	{"CLIENT", "GETNAME"}, {"CLIENT", "SETNAME", "me"}, {"MULTI"}, {"EXEC"}, {"DISCARD"},
	{"GET", "key"}, {"EXISTS", "key"}, {"DBSIZE"}, {"TTL", "key"},
}

// inlineForms are the same idea without the multibulk framing.
var inlineForms = []string{
	"PING\r\n", "PUBLISH zulu m\n", "ECHO \"a b\"\r\n", "ECHO 'it\\'s'\r\n", "ECHO \"\\x41\\n\"\r\n", "SUBSCRIBE a  b\r\n",
}

// afterwards follows every stream once more: whether it is answered shows
// whether the server has closed, and where it believes a command begins.
const afterwards = "\r\n*2\r\n$4\r\nECHO\r\n$5\r\nafter\r\n"

// mutations returns every beginning of every command and every flip of one
// bit, with and without something behind it.
func mutations() []stream {
	var all []stream
	add := func(b []byte, format string, args ...any) {
		name := fmt.Sprintf(format, args...)
		all = append(all, stream{name: name, bytes: b},
			stream{name: name + ", more behind", bytes: append(append([]byte(nil), b...), afterwards...)})
	}
	var texts []string
	for _, words := range wellFormed {
		texts = append(texts, string(harness.AppendCommand(nil, words...)))
	}
	for _, text := range append(texts, inlineForms...) {
		for n := range len(text) + 1 {
			add([]byte(text[:n]), "%q cut after %d bytes", text, n)
		}
		for i := range text {
			for bit := range 8 {
				b := []byte(text)
				b[i] ^= 1 << bit
				add(b, "%q with bit %d of byte %d flipped", text, bit, i)
			}
		}
	}
	return all
}

// attacks are streams of other kinds: what Redis's own suite sends
// (tests/unit/protocol.tcl), and what has brought RESP servers down.
func attacks() []stream {
	// Longer than what one read of either server takes: at 64 KiB it would be a
	// matter of luck whether the end of the line is there yet.
	long := strings.Repeat("x", 4<<20)
	texts := []string{
		// Empty and negative counts between commands.
		"\r\n", "\n\n\nPING\r\n", "*0\r\nPING\r\n", "*-1\r\nPING\r\n", "*-10\r\nPING\r\n", "*0\r\n\r\n*-1\r\n*1\r\n$4\r\nPING\r\n",
		"*\r\n", "*\r\nPING\r\n", "$\r\n", "-1\r\n", "\r\n\r\n*\r\n",
		// Lengths that are none, too large, or overflow.
		"*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$-10\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$2000000000\r\n",
		"*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$blabla\r\n", "*1\r\nfoo\r\n", "*3000000000\r\n", "*20000000\r\n", "*blah\r\n", "*1\r\n$4a\r\nPING\r\n",
		"*1\r\n$9223372036854775807\r\nx\r\n", "*9223372036854775807\r\n", "*99999999999999999999\r\n", "*1\r\n$99999999999999999999\r\n",
		"*-9223372036854775808\r\nPING\r\n", "*2147483648\r\n", "*2147483647\r\n", "*1\r\n$4294967300\r\nPING\r\n", "*1\r\n$-0\r\nPING\r\n",
		"*+1\r\n$4\r\nPING\r\n", "* 1\r\n$4\r\nPING\r\n", "*01\r\n$4\r\nPING\r\n", "*1\r\n$+4\r\nPING\r\n", "*1\r\n$04\r\nPING\r\n", "*1 \r\n$4\r\nPING\r\n",
		"*1\r\n$4 \r\nPING\r\n", "*1\r\n$536870913\r\n", "*1\r\n$536870912\r\n", "*1048577\r\n", "*1048576\r\n",
		// Line ends that are half or elsewhere.
		"*1\n$4\nPING\n", "*1\r$4\rPING\r", "*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n", "*1\r\n$4\r\nPING\n\r*1\r\n$4\r\nPING\r\n",
		"*1\r\n$3\r\nPING\r\n", "*1\r\n$5\r\nPING\r\n", "*1\r\n$0\r\n\r\n", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
		// Nothing, NULs and quotes where names belong.
		"\x00", "\x00\r\n", "*1\r\n$1\r\n\x00\r\n", "*1\r\n$2\r\n\r\n\r\n", "*1\r\n$6\r\na\r\nb\r\n\r\n", "PI\x00NG\r\n",
		"ECHO \"unbalanced\r\n", "ECHO 'unbalanced\r\nPING\r\n", "\"PING\"\r\n", "\"PING\"x\r\n", "ECHO \"a\"b\r\n", "''\r\n", "\"\" PING\r\n",
		// Very long.
		long + "\r\n", "ECHO " + long + "\r\n", "PING" + long, "*1\r\n$" + long + "\r\n", "*" + long, "*" + long + "\r\n",
		// Replies and other types as requests.
		":1\r\n", "+OK\r\n", "-ERR x\r\n", "%1\r\n$1\r\na\r\n$1\r\nb\r\n", "~1\r\n$1\r\na\r\n", ">1\r\n$4\r\nPING\r\n", "_\r\n", "#t\r\n",
		"*1\r\n*1\r\n$4\r\nPING\r\n", "*1\r\n:1\r\n", "*1\r\n+PING\r\n",
	}
	var all []stream
	for i, text := range texts {
		name := fmt.Sprintf("attack %d %.60q", i, text)
		all = append(all, stream{name: name, bytes: []byte(text)},
			stream{name: name + ", more behind", bytes: []byte(text + afterwards)})
	}
	for _, many := range []struct{ name, text string }{
		{"100,000 empty commands", strings.Repeat("*0\r\n", 100_000) + afterwards},
		{"100,000 empty lines", strings.Repeat("\r\n", 100_000) + afterwards},
		{"a command of 10,000 empty arguments", "*10001\r\n$4\r\nPING\r\n" + strings.Repeat("$0\r\n\r\n", 10_000) + afterwards},
		{"10,000 names", string(harness.AppendCommand(nil, append([]string{"UNSUBSCRIBE"}, numbered(10_000)...)...))},
		{"an argument of 4 MiB", "*2\r\n$4\r\nECHO\r\n$4194304\r\n" + long + "\r\n"},
	} {
		all = append(all, stream{name: many.name, bytes: []byte(many.text + "QUIT\r\n"), open: true})
	}
	return all
}

func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}
