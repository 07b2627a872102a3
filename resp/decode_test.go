package resp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// outcome is all that a stream of bytes does to a decoder.
type outcome struct {
	commands [][]string // complete commands; nil stands for skipped bytes
	rest     int        // bytes of an incomplete command at the end
	err      string
}

func (o outcome) String() string {
	return fmt.Sprintf("commands %q, %d bytes left, error %q", o.commands, o.rest, o.err)
}

func (o outcome) equal(other outcome) bool {
	return o.rest == other.rest && o.err == other.err && slices.EqualFunc(o.commands, other.commands, slices.Equal)
}

// feed gives a decoder a stream in the segments that cuts names, as a session
// does: consumed bytes are dropped, the rest is moved to new memory before more
// is appended, and old memory is overwritten so that a view kept too long shows.
func feed(t testing.TB, d *Decoder, stream []byte, cuts ...int) outcome {
	t.Helper()
	var (
		o    outcome
		p    Partial
		kept []byte
	)
	from := 0
	for _, to := range append(cuts, len(stream)) {
		moved := append(make([]byte, 0, len(kept)+to-from), kept...)
		clear(kept)
		kept = append(moved, stream[from:to]...)
		from = to
		for {
			args, n, err := d.Decode(&p, kept)
			if err != nil {
				var pe ProtocolError
				if !errors.As(err, &pe) {
					t.Fatalf("error of type %T, want ProtocolError", err)
				}
				if len(args) != 0 || n != 0 || !p.Empty() {
					t.Fatalf("with error %q: %d args, %d bytes consumed, partial %+v", err, len(args), n, p)
				}
				o.err = string(pe)
				return o
			}
			if n == 0 {
				if len(args) != 0 {
					t.Fatalf("%d args, nothing consumed", len(args))
				}
				if p.Empty() != (len(kept) == 0) {
					t.Fatalf("Empty() = %v with %d bytes of a command", p.Empty(), len(kept))
				}
				if missing := p.Missing(len(kept)); missing < 1 {
					t.Fatalf("Missing() = %d", missing)
				}
				break
			}
			if !p.Empty() {
				t.Fatalf("after a command: partial %+v", p)
			}
			var command []string
			for i, arg := range args {
				if arg == nil {
					t.Fatalf("argument %d is nil", i)
				}
				command = append(command, string(arg))
			}
			o.commands = append(o.commands, command)
			kept = kept[n:]
		}
	}
	o.rest = len(kept)
	return o
}

const (
	invalidMultibulk = "Protocol error: invalid multibulk length"
	invalidBulk      = "Protocol error: invalid bulk length"
)

// decodeCases hold what redis-server 7.0.15 answered to the same bytes, sent in
// one piece by an authenticated client.
var decodeCases = []struct {
	name   string
	stream string
	want   outcome
}{
	{"no bytes", "", outcome{}},
	{"one argument", "*1\r\n$4\r\nPING\r\n", outcome{commands: [][]string{{"PING"}}}},
	{"three arguments", "*3\r\n$7\r\nPUBLISH\r\n$2\r\nbb\r\n$4\r\nx\r\ny\r\n", outcome{commands: [][]string{{"PUBLISH", "bb", "x\r\ny"}}}},
	{"empty arguments", "*3\r\n$4\r\nECHO\r\n$0\r\n\r\n$0\r\n\r\n", outcome{commands: [][]string{{"ECHO", "", ""}}}},
	{"binary argument", "*2\r\n$4\r\nECHO\r\n$4\r\n\x00\r\n\xff\r\n", outcome{commands: [][]string{{"ECHO", "\x00\r\n\xff"}}}},
	{"pipeline", "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$1\r\na\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n", outcome{commands: [][]string{{"PING"}, {"ECHO", "a"}, {"PING"}, {"QUIT"}}}},
	{"lengths of one to three digits", "*3\r\n$9\r\n123456789\r\n$10\r\n0123456789\r\n$100\r\n" + strings.Repeat("z", 100) + "\r\n", outcome{commands: [][]string{{"123456789", "0123456789", strings.Repeat("z", 100)}}}},
	{"ten arguments", "*10\r\n" + strings.Repeat("$1\r\na\r\n", 10), outcome{commands: [][]string{strings.Split("aaaaaaaaaa", "")}}},

	{"the byte after a CR is not looked at", "*1\rX$4\rYPINGZZ*1\r\n$4\r\nPING\r\n", outcome{commands: [][]string{{"PING"}, {"PING"}}}},
	{"the byte after the CR of *0 is not looked at", "*0\rX*1\r\n$4\r\nPING\r\n", outcome{commands: [][]string{nil, {"PING"}}}},
	{"LF alone ends no length line", "*1\n$4\nPING\n", outcome{rest: 11}},
	{"CR of a later line ends an LF line", "*1\n$4\r\nPING\r\n", outcome{err: invalidMultibulk}},

	{"empty and negative counts are skipped", "*0\r\n*-1\r\n*-10\r\n*-9223372036854775808\r\n*1\r\n$4\r\nPING\r\n", outcome{commands: [][]string{nil, nil, nil, nil, {"PING"}}}},
	{"count incomplete", "*", outcome{rest: 1}},
	{"count without its line feed", "*0\r", outcome{rest: 3}},
	{"count below int64", "*-9223372036854775809\r\n", outcome{err: invalidMultibulk}},
	{"count no number", "*abc\r\n", outcome{err: invalidMultibulk}},
	{"count empty", "*\r\n", outcome{err: invalidMultibulk}},
	{"count minus alone", "*-\r\n", outcome{err: invalidMultibulk}},
	{"count minus zero", "*-0\r\n", outcome{err: invalidMultibulk}},
	{"count two minus", "*--1\r\n", outcome{err: invalidMultibulk}},
	{"count plus", "*+1\r\n$4\r\nPING\r\n", outcome{err: invalidMultibulk}},
	{"count leading zero", "*01\r\n$4\r\nPING\r\n", outcome{err: invalidMultibulk}},
	{"count double zero", "*00\r\n", outcome{err: invalidMultibulk}},
	{"count leading blank", "* 1\r\n$4\r\nPING\r\n", outcome{err: invalidMultibulk}},
	{"count trailing blank", "*1 \r\n$4\r\nPING\r\n", outcome{err: invalidMultibulk}},
	{"count trailing letter", "*1x\r\n$4\r\nPING\r\n", outcome{err: invalidMultibulk}},
	{"count over INT_MAX", "*2147483648\r\n", outcome{err: invalidMultibulk}},
	{"count over int64", "*9223372036854775808\r\n", outcome{err: invalidMultibulk}},
	{"count of 20 digits", "*99999999999999999999\r\n", outcome{err: invalidMultibulk}},
	{"count that is 2 in 64 bits", "*18446744073709551618\r\n", outcome{err: invalidMultibulk}},
	{"count INT_MAX waits", "*2147483647\r\n$1000\r\n", outcome{rest: 20}},
	{"count of 300 million waits", "*300000000\r\n", outcome{rest: 12}},
	{"count of 9 digits at the end of the bytes", "*12345678\r", outcome{rest: 10}},

	{"length no number", "*1\r\n$abc\r\n", outcome{err: invalidBulk}},
	{"length empty", "*1\r\n$\r\n\r\n", outcome{err: invalidBulk}},
	{"length minus one", "*2\r\n$4\r\nPING\r\n$-1\r\n", outcome{err: invalidBulk}},
	{"length minus two", "*1\r\n$-2\r\n", outcome{err: invalidBulk}},
	{"length plus", "*1\r\n$+4\r\nPING\r\n", outcome{err: invalidBulk}},
	{"length leading zero", "*1\r\n$04\r\nPING\r\n", outcome{err: invalidBulk}},
	{"length double zero", "*1\r\n$00\r\n\r\n", outcome{err: invalidBulk}},
	{"length leading zero of three", "*1\r\n$004\r\nPING\r\n", outcome{err: invalidBulk}},
	{"length leading blank", "*1\r\n$ 4\r\nPING\r\n", outcome{err: invalidBulk}},
	{"length trailing letter", "*1\r\n$4x\r\nPING\r\n", outcome{err: invalidBulk}},
	{"length trailing letter after two digits", "*1\r\n$10x\r\nPING\r\n", outcome{err: invalidBulk}},
	{"length 512 MiB waits", "*1\r\n$536870912\r\n", outcome{rest: 16}},
	{"length over 512 MiB", "*1\r\n$536870913\r\n", outcome{err: invalidBulk}},
	{"length over 512 MiB, longer", "*1\r\n$99999999999999\r\n", outcome{err: invalidBulk}},
	{"length int64", "*1\r\n$9223372036854775807\r\nx\r\n", outcome{err: invalidBulk}},
	{"length over int64", "*1\r\n$9223372036854775808\r\nx\r\n", outcome{err: invalidBulk}},
	{"length that is 4 in 64 bits", "*1\r\n$18446744073709551620\r\nPING\r\n", outcome{err: invalidBulk}},
	{"length that is 4 in 32 bits", "*1\r\n$4294967300\r\nPING\r\n", outcome{err: invalidBulk}},
	{"length at the end of the bytes", "*1\r\n$12345\r", outcome{rest: 11}},

	{"no dollar", "*2\r\n$4\r\nPING\r\n!x\r\n", outcome{err: "Protocol error: expected '$', got '!'"}},
	{"no dollar, byte over 127", "*1\r\n\xe9\r\n", outcome{err: "Protocol error: expected '$', got '\xe9'"}},
	{"no dollar, empty line", "*1\r\n\r\nPING\r\n", outcome{err: "Protocol error: expected '$', got ' '"}},
	{"no dollar, line feed", "*1\r\n\n$4\r\nPING\r\n", outcome{err: "Protocol error: expected '$', got ' '"}},
	{"no dollar waits for the line", "*1\r\n!xxxxxxxxxxxxxxxx", outcome{rest: 21}},
	{"nested count", "*1\r\n*1\r\n$4\r\nPING\r\n", outcome{err: "Protocol error: expected '$', got '*'"}},

	{"NUL hides the end of a count", "*1\x00\r\n$4\r\nPING\r\n", outcome{rest: 15}},
	{"NUL hides the end of a length", "*1\r\n$4\x00\r\nPING\r\n", outcome{rest: 15}},
	{"NUL in place of a dollar", "*1\r\n\x00\r\nPING\r\n", outcome{rest: 13}},
	{"NUL after the end hides nothing", "*1\r\x00$4\r\x00PING\x00\x00*1\r\n$4\r\nPING\r\n", outcome{commands: [][]string{{"PING"}, {"PING"}}}},
}

func TestDecode_Table(t *testing.T) {
	for _, c := range decodeCases {
		t.Run(c.name, func(t *testing.T) {
			d := &Decoder{Limits: DefaultLimits()}
			if got := feed(t, d, []byte(c.stream)); !got.equal(c.want) {
				t.Errorf("in one piece:\ngot  %v\nwant %v", got, c.want)
			}
			cuts := make([]int, len(c.stream))
			for i := range cuts {
				cuts[i] = i
			}
			if got := feed(t, d, []byte(c.stream), cuts...); !got.equal(c.want) {
				t.Errorf("byte by byte:\ngot  %v\nwant %v", got, c.want)
			}
			for cut := range len(c.stream) {
				if got := feed(t, d, []byte(c.stream), cut); !got.equal(c.want) {
					t.Errorf("in two pieces, cut at %d:\ngot  %v\nwant %v", cut, got, c.want)
				}
			}
		})
	}
}

func TestDecode_LongLines(t *testing.T) {
	const limit = 64 << 10
	for _, c := range []struct {
		name, head, end, err string
	}{
		{"count", "*", "\r\n", "Protocol error: too big mbulk count string"},
		{"length", "*1\r\n$", "\r\n", "Protocol error: too big bulk count string"},
		{"no dollar", "*1\r\n!", "\r\n", "Protocol error: too big bulk count string"},
		{"inline", "P", "\n", "Protocol error: too big inline request"},
	} {
		for _, filler := range []string{"1", "\x00"} {
			t.Run(fmt.Sprintf("%s of %q", c.name, filler), func(t *testing.T) {
				d := &Decoder{Limits: DefaultLimits()}
				line := c.head[strings.LastIndexByte(c.head, '\n')+1:]
				full := c.head + strings.Repeat(filler, limit-len(line))
				cuts := []int{1, 4, 5, 16384, 16385, limit - 1, limit}
				if got, want := feed(t, d, []byte(full), cuts...), (outcome{rest: len(full)}); !got.equal(want) {
					t.Errorf("%d bytes without an end:\ngot  %v\nwant %v", limit, got, want)
				}
				want := outcome{err: c.err}
				for _, over := range []string{filler, filler + c.end} {
					if got := feed(t, d, []byte(full+over), cuts...); !got.equal(want) {
						t.Errorf("%d bytes and %q:\ngot  %v\nwant %v", limit, over, got, want)
					}
				}
				if got := feed(t, d, []byte(full+c.end)); filler == "1" && got.err == c.err {
					t.Errorf("%d bytes with an end are too long: %v", limit, got)
				}
			})
		}
	}
}

func TestDecode_UnauthenticatedLimits(t *testing.T) {
	bulk := func(n int) string { return "$" + strconv.Itoa(n) + "\r\n" + strings.Repeat("x", n) + "\r\n" }
	for _, c := range []struct {
		name, stream string
		want         outcome
	}{
		{"ten arguments", "*10\r\n" + strings.Repeat(bulk(1), 10), outcome{commands: [][]string{strings.Split("xxxxxxxxxx", "")}}},
		{"eleven arguments", "*11\r\n", outcome{err: "Protocol error: unauthenticated multibulk length"}},
		{"eleven complete arguments", "*11\r\n" + strings.Repeat(bulk(1), 11), outcome{err: "Protocol error: unauthenticated multibulk length"}},
		{"more than any client may send", "*2147483648\r\n", outcome{err: invalidMultibulk}},
		{"16384 bytes", "*1\r\n" + bulk(16384), outcome{commands: [][]string{{strings.Repeat("x", 16384)}}}},
		{"16385 bytes", "*1\r\n$16385\r\n", outcome{err: "Protocol error: unauthenticated bulk length"}},
		{"16385 bytes, complete", "*1\r\n" + bulk(16385), outcome{err: "Protocol error: unauthenticated bulk length"}},
		{"longer than any client may send", "*1\r\n$536870913\r\n", outcome{err: invalidBulk}},
		{"skipped", "*0\r\n*-1\r\n", outcome{commands: [][]string{nil, nil}}},
		{"inline of eleven words", "a b c d e f g h i j k\n", outcome{commands: [][]string{strings.Split("abcdefghijk", "")}}},
	} {
		d := &Decoder{Limits: UnauthenticatedLimits()}
		for _, cut := range []int{0, len(c.stream) / 2} {
			if got := feed(t, d, []byte(c.stream), cut); !got.equal(c.want) {
				t.Errorf("%s, cut at %d:\ngot  %v\nwant %v", c.name, cut, got, c.want)
			}
		}
	}
}

func TestDecode_ConfiguredLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		stream string
		want   outcome
	}{
		{"zero means default", Limits{}, "*2\r\n$4\r\nECHO\r\n$1\r\na\r\nPING\r\n", outcome{commands: [][]string{{"ECHO", "a"}, {"PING"}}}},
		{"zero means default, over", Limits{}, "*1\r\n$536870913\r\n", outcome{err: invalidBulk}},
		{"arguments", Limits{Args: 2}, "*2\r\n$1\r\na\r\n$1\r\nb\r\n*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", outcome{commands: [][]string{{"a", "b"}}, err: invalidMultibulk}},
		{"bytes, short", Limits{Args: 10, BulkBytes: 3}, "*1\r\n$3\r\nabc\r\n*1\r\n$4\r\nabcd\r\n", outcome{commands: [][]string{{"abc"}}, err: invalidBulk}},
		{"bytes, long", Limits{Args: 10, BulkBytes: 99}, "*1\r\n$100\r\n" + strings.Repeat("a", 100) + "\r\n", outcome{err: invalidBulk}},
		{"highest values", Limits{Args: math.MaxInt, BulkBytes: math.MaxInt, InlineBytes: 1 << 20}, "*2147483647\r\n$4611686018427387903\r\nx\r\n", outcome{rest: 38}},
		{"highest values, over", Limits{Args: math.MaxInt, BulkBytes: math.MaxInt}, "*1\r\n$9223372036854775807\r\nx\r\n", outcome{err: invalidBulk}},
		{"highest count, over", Limits{Args: math.MaxInt}, "*2147483648\r\n", outcome{err: invalidMultibulk}},
		{"shortest line", Limits{InlineBytes: 1}, "PING\n*1\r\n$4\r\nPING\r\n" + strings.Repeat("a", 64) + "\n" + strings.Repeat("b", 65) + "\n", outcome{commands: [][]string{{"PING"}, {"PING"}, {strings.Repeat("a", 64)}}, err: "Protocol error: too big inline request"}},
	} {
		d := &Decoder{Limits: c.limits}
		for _, cut := range []int{0, len(c.stream) / 2} {
			if got := feed(t, d, []byte(c.stream), cut); !got.equal(c.want) {
				t.Errorf("%s, cut at %d:\ngot  %v\nwant %v", c.name, cut, got, c.want)
			}
		}
	}
}

// A number that was accepted stays accepted, as in Redis, where CONFIG SET
// proto-max-bulk-len does not reach an argument that is on its way.
func TestDecode_LimitsChangedInsideACommand(t *testing.T) {
	const command = "*2\r\n$4\r\nECHO\r\n$40\r\n0123456789012345678901234567890123456789\r\n"
	d := &Decoder{Limits: DefaultLimits()}
	var p Partial
	if _, n, err := d.Decode(&p, []byte(command[:30])); n != 0 || err != nil {
		t.Fatalf("first part: n %d, error %v", n, err)
	}
	d.Limits = Limits{Args: 1, BulkBytes: 10, InlineBytes: 1, Unauthenticated: true}
	args, n, err := d.Decode(&p, []byte(command))
	if len(args) != 2 || n != len(command) || err != nil {
		t.Fatalf("the rest: args %q, n %d, error %v", args, n, err)
	}
}

func TestDecode_OneDecoderManySessions(t *testing.T) {
	d := &Decoder{Limits: DefaultLimits()}
	streams := []string{
		"*2\r\n$4\r\nECHO\r\n$3\r\none\r\n",
		"*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$12\r\nhello, world\r\n",
		"ECHO \"a \\x41\" 'b'\r\n",
		"*12\r\n" + strings.Repeat("$1\r\na\r\n", 12),
	}
	want := []string{`["ECHO" "one"]`, `["PUBLISH" "c" "hello, world"]`, `["ECHO" "a A" "b"]`, fmt.Sprintf("%q", strings.Split("aaaaaaaaaaaa", ""))}
	partials := make([]Partial, len(streams))
	for sent := 1; sent <= 100; sent++ {
		for i, s := range streams {
			if sent > len(s) {
				continue
			}
			args, n, err := d.Decode(&partials[i], []byte(s[:sent]))
			if err != nil {
				t.Fatalf("session %d after %d bytes: %v", i, sent, err)
			}
			if (n != 0) != (sent == len(s)) {
				t.Fatalf("session %d after %d of %d bytes: consumed %d", i, sent, len(s), n)
			}
			if n != 0 && fmt.Sprintf("%q", args) != want[i] {
				t.Errorf("session %d: got %q, want %s", i, args, want[i])
			}
		}
	}
}

func TestDecode_ArgumentsAreViews(t *testing.T) {
	buf := []byte("*2\r\n$4\r\nECHO\r\n$5\r\nfirst\r\nPING word\r\n")
	d := &Decoder{Limits: DefaultLimits()}
	var p Partial
	args, n, err := d.Decode(&p, buf)
	if err != nil {
		t.Fatal(err)
	}
	if &args[1][0] != &buf[18] {
		t.Error("the argument was copied")
	}
	if got := cap(args[1]); got != len("first")+2 {
		t.Errorf("capacity %d: an append would reach the next command", got)
	}
	args, _, err = d.Decode(&p, buf[n:])
	if err != nil {
		t.Fatal(err)
	}
	if &args[1][0] != &buf[n+5] || cap(args[1]) != len("word") {
		t.Errorf("inline argument %q with capacity %d is no view of its own bytes", args[1], cap(args[1]))
	}
}

func TestPartial_Missing(t *testing.T) {
	for _, c := range []struct {
		have string
		want int
	}{
		{"", 1},
		{"*", 1},
		{"PING", 1},
		{"*1\r\n", 6},
		{"*3\r\n", 18},
		{"*3\r\n$4\r\n", 6 + 12},
		{"*3\r\n$4\r\nECHO\r\n", 12},
		{"*3\r\n$4\r\nECHO\r\n$1", 10},
		{"*3\r\n$4\r\nECHO\r\n$1000\r\nabc", 999 + 6},
		{"*1\r\n$100\r\n", 102},
		{"*1\r\n$12345678", 1},
		{"*2147483647\r\n", min(6*2147483647, math.MaxInt)},
	} {
		d := &Decoder{Limits: DefaultLimits()}
		var p Partial
		if _, n, err := d.Decode(&p, []byte(c.have)); n != 0 || err != nil {
			t.Fatalf("%q: n %d, error %v", c.have, n, err)
		}
		if got := p.Missing(len(c.have)); got != c.want {
			t.Errorf("after %q: missing %d, want %d", c.have, got, c.want)
		}
		p.Reset()
		if !p.Empty() || p.Missing(0) != 1 {
			t.Errorf("after %q and Reset: %+v", c.have, p)
		}
	}
}
