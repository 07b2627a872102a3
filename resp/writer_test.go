package resp

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

var writerCases = []struct {
	name         string
	write        func(*Writer)
	resp2, resp3 string // resp3 "" means the same
}{
	{"simple", func(w *Writer) { w.Simple("PONG") }, "+PONG\r\n", ""},
	{"simple empty", func(w *Writer) { w.Simple("") }, "+\r\n", ""},
	{"simple with line breaks", func(w *Writer) { w.Simple("a\r\nb\x00c\n") }, "+a  b c \r\n", ""},
	{"OK", func(w *Writer) { w.OK() }, "+OK\r\n", ""},
	{"error", func(w *Writer) { w.Error("ERR syntax error") }, "-ERR syntax error\r\n", ""},
	{"error with a forged reply", func(w *Writer) { w.Error("ERR unknown command 'x\r\n+OK\r\ny'") }, "-ERR unknown command 'x  +OK  y'\r\n", ""},
	{"error with line breaks around", func(w *Writer) { w.Error("\nERR a\r\n\r\n") }, "-ERR a\r\n", ""},
	{"error with NULs", func(w *Writer) { w.Error("ERR a\x00b\x00") }, "-ERR a b \r\n", ""},
	{"error with bytes over 127", func(w *Writer) { w.Error("ERR \xff\xc3") }, "-ERR \xff\xc3\r\n", ""},
	{"protocol error", func(w *Writer) { w.ProtocolError(errExpectedDollar('\n')) }, "-ERR Protocol error: expected '$', got ' '\r\n", ""},
	{"int 0", func(w *Writer) { w.Int(0) }, ":0\r\n", ""},
	{"int 10", func(w *Writer) { w.Int(10) }, ":10\r\n", ""},
	{"int minus 1", func(w *Writer) { w.Int(-1) }, ":-1\r\n", ""},
	{"int lowest", func(w *Writer) { w.Int(math.MinInt64) }, ":-9223372036854775808\r\n", ""},
	{"int highest", func(w *Writer) { w.Int(math.MaxInt64) }, ":9223372036854775807\r\n", ""},
	{"bulk", func(w *Writer) { w.Bulk([]byte("a\r\n\x00b")) }, "$5\r\na\r\n\x00b\r\n", ""},
	{"bulk nil is empty", func(w *Writer) { w.Bulk(nil) }, "$0\r\n\r\n", ""},
	{"bulk string", func(w *Writer) { w.BulkString("0123456789") }, "$10\r\n0123456789\r\n", ""},
	{"null", func(w *Writer) { w.Null() }, "$-1\r\n", "_\r\n"},
	{"null array", func(w *Writer) { w.NullArray() }, "*-1\r\n", "_\r\n"},
	{"array", func(w *Writer) { w.Array(2); w.Int(1); w.Array(0) }, "*2\r\n:1\r\n*0\r\n", ""},
	{"array of 1000", func(w *Writer) { w.Array(1000); ints(w, 1000) }, "*1000\r\n" + strings.Repeat(":7\r\n", 1000), ""},
	{"map", func(w *Writer) { w.Map(1); w.BulkString("k"); w.Int(1) }, "*2\r\n$1\r\nk\r\n:1\r\n", "%1\r\n$1\r\nk\r\n:1\r\n"},
	{"map of 60", func(w *Writer) { w.Map(60); ints(w, 120) }, "*120\r\n" + strings.Repeat(":7\r\n", 120), "%60\r\n" + strings.Repeat(":7\r\n", 120)},
	{"set", func(w *Writer) { w.Set(1); w.Int(7) }, "*1\r\n:7\r\n", "~1\r\n:7\r\n"},
	{"push", func(w *Writer) { w.Push(1); w.Int(7) }, "*1\r\n:7\r\n", ">1\r\n:7\r\n"},
	{"attribute", func(w *Writer) {
		if w.Attribute(1) {
			w.BulkString("k")
			w.Int(1)
		}
		w.Int(7)
	}, ":7\r\n", "|1\r\n$1\r\nk\r\n:1\r\n:7\r\n"},
	{"verbatim", func(w *Writer) { w.Verbatim("txt", "a\r\nb") }, "$4\r\na\r\nb\r\n", "=8\r\ntxt:a\r\nb\r\n"},
	{"verbatim empty", func(w *Writer) { w.Verbatim("mkd", "") }, "$0\r\n\r\n", "=4\r\nmkd:\r\n"},
	{"verbatim format short", func(w *Writer) { w.Verbatim("t", "a") }, "$1\r\na\r\n", "=5\r\nt  :a\r\n"},
	{"verbatim format long", func(w *Writer) { w.Verbatim("text", "a") }, "$1\r\na\r\n", "=5\r\ntex:a\r\n"},
	{"double", func(w *Writer) { w.Double(-1.5) }, "$4\r\n-1.5\r\n", ",-1.5\r\n"},
	{"double infinite", func(w *Writer) { w.Double(math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n"},
	{"double not a number", func(w *Writer) { w.Double(math.NaN()) }, "$3\r\nnan\r\n", ",nan\r\n"},
	{"true", func(w *Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
	{"false", func(w *Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
	{"big number", func(w *Writer) { w.BigNumber("-123456789012345678901234567890") }, "$31\r\n-123456789012345678901234567890\r\n", "(-123456789012345678901234567890\r\n"},
}

func ints(w *Writer, n int) {
	for range n {
		w.Int(7)
	}
}

func TestWriter_Bytes(t *testing.T) {
	for _, c := range writerCases {
		want3 := c.resp3
		if want3 == "" {
			want3 = c.resp2
		}
		for proto, want := range map[Proto]string{RESP2: c.resp2, RESP3: want3, 0: c.resp2} {
			w := &Writer{B: []byte("before"), Proto: proto}
			c.write(w)
			got, found := strings.CutPrefix(string(w.B), "before")
			if !found || got != want {
				t.Errorf("%s in RESP%d:\ngot  %q\nwant %q", c.name, proto, w.B, want)
			}
			if _, rest, err := readValue(got); err != nil || rest != "" {
				t.Errorf("%s in RESP%d is not one value: error %v, rest %q", c.name, proto, err, rest)
			}
			if proto != RESP3 {
				if n, _ := redcon.ReadNextRESP([]byte(got)); n != len(got) {
					t.Errorf("%s in RESP2: redcon reads %d of %d bytes", c.name, n, len(got))
				}
			}
		}
	}
}

// FuzzWriter: whatever a client made the texts, a reply is one value.
func FuzzWriter(f *testing.F) {
	f.Add("ERR unknown command 'a\r\n+OK\r\n'", 1.5)
	f.Add("\r\n", math.Inf(1))
	f.Add("a\x00b\n", 1e300)
	f.Fuzz(func(t *testing.T, text string, number float64) {
		for _, proto := range []Proto{RESP2, RESP3} {
			w := &Writer{Proto: proto}
			w.Array(7)
			w.Error(text)
			w.Simple(text)
			w.BulkString(text)
			w.Bulk([]byte(text))
			w.Verbatim("txt", text)
			w.Double(number)
			w.Map(1)
			w.BulkString(text)
			w.Bool(true)
			value, rest, err := readValue(string(w.B))
			if err != nil || rest != "" {
				t.Fatalf("RESP%d: error %v, rest %q of %q", proto, err, rest, w.B)
			}
			if strings.Count(value, strconv.Quote(text)) < 4 {
				t.Fatalf("RESP%d: %q is not four times in %s", proto, text, value)
			}
			digits := string(appendDouble(nil, number))
			if back, err := strconv.ParseFloat(digits, 64); err != nil || back != number && !math.IsNaN(number) {
				t.Fatalf("%v is written %q, which reads %v, error %v", number, digits, back, err)
			}
			if len(digits) > maxDoubleBytes {
				t.Fatalf("%q has %d bytes", digits, len(digits))
			}
		}
	})
}

// The expectations follow redis 8's d2string and its fpconv_dtoa.
func TestWriter_DoubleNotation(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0, "0"},
		{math.Copysign(0, -1), "-0"},
		{1, "1"},
		{-100, "-100"},
		{3e15, "3000000000000000"},
		{1 << 62, "4611686018427387904"},
		{-(1 << 62), "-4611686018427387904"},
		{1e19, "1e+19"},
		{12345678901234567000, "12345678901234567000"},
		{1.2345678901234567e23, "123456789012345670000000"},
		{1.2345678901234568e24, "1.2345678901234568e+24"},
		{1.5, "1.5"},
		{0.1, "0.1"},
		{0.30000000000000004, "0.30000000000000004"},
		{-123.456, "-123.456"},
		{0.001, "0.001"},
		{0.000001, "0.000001"},
		{0.0000001, "1e-7"},
		{1.25e-9, "1.25e-9"},
		{-1.25e-9, "-1.25e-9"},
		{1e300, "1e+300"},
		{1.5e300, "1.5e+300"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{math.SmallestNonzeroFloat64, "5e-324"},
		{math.Inf(1), "inf"},
	} {
		if got := string(appendDouble(nil, c.f)); got != c.want {
			t.Errorf("%v: got %s, want %s", c.f, got, c.want)
		}
	}
}
