package resp

import (
	"bytes"
	"fmt"
	"testing"
)

const unbalanced = "Protocol error: unbalanced quotes in request"

// inlineCases hold what redis-server 7.0.15 answered to the same bytes.
var inlineCases = []struct {
	name   string
	stream string
	want   outcome
}{
	{"word", "PING\r\n", outcome{commands: [][]string{{"PING"}}}},
	{"LF alone", "PING\n\r\n\n\r\nECHO a807\n", outcome{commands: [][]string{{"PING"}, nil, nil, nil, {"ECHO", "a807"}}}},
	{"blank line", "  \t \v\f \r\nPING\n", outcome{commands: [][]string{nil, {"PING"}}}},
	{"no end", "PING", outcome{rest: 4}},
	{"CR alone is no end", "PING\r", outcome{rest: 5}},
	{"CR inside separates", "ECHO\ra\n", outcome{commands: [][]string{{"ECHO", "a"}}}},
	{"one CR of two belongs to the end", "ECHO a\r\r\n", outcome{commands: [][]string{{"ECHO", "a"}}}},
	{"blanks around", "  ECHO \t  hi  \r\n", outcome{commands: [][]string{{"ECHO", "hi"}}}},
	{"vertical tab before a word is skipped", "ECHO \v\fhi\n", outcome{commands: [][]string{{"ECHO", "hi"}}}},
	{"vertical tab in a word is kept", "ECHO h\v\fi\n", outcome{commands: [][]string{{"ECHO", "h\v\fi"}}}},
	{"bytes over 127", "ECHO \xff\xa0\x85\n", outcome{commands: [][]string{{"ECHO", "\xff\xa0\x85"}}}},
	{"starts like a bulk", "$4\r\nPING\r\n", outcome{commands: [][]string{{"$4"}, {"PING"}}}},
	{"NUL hides the end", "PING\x00\r\nPING\r\n", outcome{rest: 13}},
	{"NUL first", "\x00\r\nPING\r\n", outcome{rest: 9}},
	{"NUL in the next command", "PING\r\n\x00PING\r\n", outcome{commands: [][]string{{"PING"}}, rest: 7}},

	{"double quotes", "ECHO \"a b\"\n", outcome{commands: [][]string{{"ECHO", "a b"}}}},
	{"empty double quotes", "ECHO \"\"\r\n", outcome{commands: [][]string{{"ECHO", ""}}}},
	{"empty single quotes", "ECHO ''\r\n", outcome{commands: [][]string{{"ECHO", ""}}}},
	{"all escapes", `ECHO "\n\r\t\b\a\\\"\'\q\x41\xfF\xg1\x4"` + "\n", outcome{commands: [][]string{{"ECHO", "\n\r\t\b\a\\\"'qA\xffxg1x4"}}}},
	{"escaped NUL", `ECHO "\x00"` + "\n", outcome{commands: [][]string{{"ECHO", "\x00"}}}},
	{"single quotes", `ECHO 'a\'b\x41\n"'` + "\n", outcome{commands: [][]string{{"ECHO", `a'b\x41\n"`}}}},
	{"quotes after letters", `ECHO a"b c"` + "\n", outcome{commands: [][]string{{"ECHO", "ab c"}}}},
	{"single quotes after letters", `ECHO a'b c'` + "\n", outcome{commands: [][]string{{"ECHO", "ab c"}}}},
	{"single quotes in double", `ECHO "it's"` + "\n", outcome{commands: [][]string{{"ECHO", "it's"}}}},
	{"backslash outside quotes", `ECHO a\x41\` + "\n", outcome{commands: [][]string{{"ECHO", `a\x41\`}}}},
	{"quote then tab", "ECHO \"a\"\tb\n", outcome{commands: [][]string{{"ECHO", "a", "b"}}}},
	{"quote then vertical tab", "ECHO \"a\"\v\n", outcome{commands: [][]string{{"ECHO", "a"}}}},
	{"quoted line feed does not exist", "ECHO \"a\nb\"\n", outcome{err: unbalanced}},
	{"quoted CR before the end", "ECHO \"a\r\n", outcome{err: unbalanced}},

	{"open double quote", "PUBLISH q \"abc\r\n", outcome{err: unbalanced}},
	{"open single quote", "PUBLISH q 'abc\r\n", outcome{err: unbalanced}},
	{"text after a double quote", "PING \"a\"b\r\n", outcome{err: unbalanced}},
	{"text after a single quote", "PING 'a'b\r\n", outcome{err: unbalanced}},
	{"quote after a quote", "PING \"a\"\"b\"\r\n", outcome{err: unbalanced}},
	{"escaped end", `PING "a\"` + "\r\n", outcome{err: unbalanced}},
	{"escaped single end", `PING 'a\'` + "\r\n", outcome{err: unbalanced}},
	{"cut escape", `PING "\x4` + "\r\n", outcome{err: unbalanced}},
	{"lone quote", "\"\n", outcome{err: unbalanced}},
	{"earlier commands stand", "PING\nPING '\nPING\n", outcome{commands: [][]string{{"PING"}}, err: unbalanced}},
}

func TestInline_Table(t *testing.T) {
	for _, c := range inlineCases {
		t.Run(c.name, func(t *testing.T) {
			d := &Decoder{Limits: DefaultLimits()}
			if got := feed(t, d, []byte(c.stream)); !got.equal(c.want) {
				t.Errorf("in one piece:\ngot  %v\nwant %v", got, c.want)
			}
			for cut := range len(c.stream) {
				if got := feed(t, d, []byte(c.stream), cut); !got.equal(c.want) {
					t.Errorf("cut at %d:\ngot  %v\nwant %v", cut, got, c.want)
				}
			}
		})
	}
}

func TestInline_WordsDoNotShareScratch(t *testing.T) {
	d := &Decoder{Limits: DefaultLimits()}
	var p Partial
	args, _, err := d.Decode(&p, []byte(`"one" x"two" 'three'`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	_ = append(args[0], "overwritten"...)
	if got := fmt.Sprintf("%q", args); got != `["one" "xtwo" "three"]` {
		t.Errorf("after an append to the first word: %s", got)
	}
}

// quoteInline writes an argument so that split gives it back, in the way that
// mode selects.
func quoteInline(dst, arg []byte, mode byte) []byte {
	plain := len(arg) > 0 && !bytes.ContainsAny(arg, " \t\n\r\v\f\"'\x00") && mode%3 == 0
	single := !bytes.ContainsAny(arg, "\n\r\x00\\") && mode%3 == 1
	switch {
	case plain:
		return append(dst, arg...)
	case single:
		dst = append(dst, '\'')
		dst = append(dst, bytes.ReplaceAll(arg, []byte(`'`), []byte(`\'`))...)
		return append(dst, '\'')
	}
	dst = append(dst, '"')
	for _, c := range arg {
		if c == '"' || c == '\\' || c < ' ' || c > '~' {
			dst = fmt.Appendf(dst, `\x%02x`, c)
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
