package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A Case is one entry of testdata/cases.json.
type Case struct {
	ID     string   `json:"id"`
	Source string   `json:"source"` // where the mistake was reported
	Title  string   `json:"title"`
	Kind   string   `json:"kind"`
	Needs  []string `json:"needs"` // beyond a plain Redis 7.0.15
	Uses   []string `json:"uses"`
	Note   string   `json:"note"`
	Steps  []Step   `json:"steps"`
	// Cleanup undoes what the steps changed, on connections of its own.
	Cleanup []Step `json:"cleanup"`
}

// A Step is one step of a case; exactly one of its forms is set. Strings use
// the escapes that unescape resolves.
type Step struct {
	Conn string `json:"conn"` // opened at its first use

	Send         *string `json:"send"`
	ChunkBytes   int     `json:"chunk"` // send in pieces of this size
	ChunkDelayMS int     `json:"chunk_delay_ms"`
	MayFail      bool    `json:"may_fail"`

	Expect       *string  `json:"expect"`        // exactly these bytes come next
	ExpectPrefix *string  `json:"expect_prefix"` // they begin so, the rest of the burst is dropped
	ExpectAny    []string `json:"expect_any"`    // exactly one of these
	ExpectRegex  *string  `json:"expect_regex"`  // Python's bytes regex, DOTALL
	// Repeat applies to Send and Expect: N times, {i} counted from 0 and {n}
	// from 1 in each.
	Repeat *int `json:"repeat"`
	// MaxMS is the time in which the expectation is to be met, in milliseconds.
	MaxMS int `json:"max_ms"`

	ExpectClosed    bool `json:"expect_closed"` // with Drain: after any bytes
	ExpectSilenceMS *int `json:"expect_silence_ms"`
	Drain           bool `json:"drain"` // drop what comes

	Open        bool `json:"open"`
	WindowBytes int  `json:"rcvbuf"` // with Open: the receive buffer
	Plain       bool `json:"plain"`  // with Open: no TLS, on a TLS port

	Close      any  `json:"close"` // true, or "rst" for a reset
	ShutdownWr bool `json:"shutdown_wr"`

	SleepMS int `json:"sleep_ms"`
}

// String prints the step as it stands in the file, cut.
func (s Step) String() string {
	b, _ := json.Marshal(s)
	text := regexp.MustCompile(`"\w+":(null|false|0|""),?`).ReplaceAllString(string(b), "")
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return text
}

func loadCases(t *testing.T) []Case {
	t.Helper()
	text, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	// An unknown step form would silently be no step at all.
	d.DisallowUnknownFields()
	var cases []Case
	if err := d.Decode(&cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// unescape resolves \r \n \t \\ \" \0 \xNN and \{N*text}; every other
// character stands for its UTF-8 bytes.
func unescape(s string) ([]byte, error) {
	var out []byte
	for len(s) > 0 {
		if s[0] != '\\' {
			end := strings.IndexByte(s, '\\')
			if end < 0 {
				end = len(s)
			}
			out = append(out, s[:end]...)
			s = s[end:]
			continue
		}
		if len(s) < 2 {
			return nil, fmt.Errorf("a lone backslash at the end")
		}
		switch s[1] {
		case 'r':
			out = append(out, '\r')
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case '0':
			out = append(out, 0)
		case '\\', '"':
			out = append(out, s[1])
		case 'x':
			if len(s) < 4 {
				return nil, fmt.Errorf("short escape %s", s)
			}
			b, err := strconv.ParseUint(s[2:4], 16, 8)
			if err != nil {
				return nil, fmt.Errorf("bad escape %s", s[:4])
			}
			out = append(out, byte(b))
			s = s[4:]
			continue
		case '{':
			count, rest, ok := strings.Cut(s[2:], "*")
			text, tail, closed := strings.Cut(rest, "}")
			n, err := strconv.Atoi(count)
			if !ok || !closed || err != nil {
				return nil, fmt.Errorf("bad repetition in %s", s)
			}
			one, err := unescape(text)
			if err != nil {
				return nil, err
			}
			out = append(out, bytes.Repeat(one, n)...)
			s = tail
			continue
		default:
			return nil, fmt.Errorf("bad escape \\%c", s[1])
		}
		s = s[2:]
	}
	return out, nil
}

var (
	counter  = regexp.MustCompile(`\{(i|n)(?::(0\d+)d)?\}`)
	variable = regexp.MustCompile(`\$\{(\w+)\}`)
)

// expand resolves variables, counters and escapes, in this order. repeat nil
// means once and without counters.
func expand(text string, repeat *int, vars map[string]string) ([]byte, error) {
	text, err := substitute(text, vars, func(v string) string { return v })
	if err != nil {
		return nil, err
	}
	if repeat == nil {
		return unescape(text)
	}
	if !counter.MatchString(text) {
		one, err := unescape(text)
		return bytes.Repeat(one, *repeat), err
	}
	// The counters stand in few places of the text: resolve what lies between
	// them once.
	var pieces [][]byte
	var marks [][]string
	pos := 0
	for _, m := range counter.FindAllStringSubmatchIndex(text, -1) {
		piece, err := unescape(text[pos:m[0]])
		if err != nil {
			return nil, err
		}
		width := ""
		if m[4] >= 0 {
			width = text[m[4]:m[5]]
		}
		pieces, marks = append(pieces, piece), append(marks, []string{text[m[2]:m[3]], width})
		pos = m[1]
	}
	last, err := unescape(text[pos:])
	if err != nil {
		return nil, err
	}
	var out []byte
	for i := range *repeat {
		for k, piece := range pieces {
			out = append(out, piece...)
			n := i
			if marks[k][0] == "n" {
				n++
			}
			out = fmt.Appendf(out, "%"+marks[k][1]+"d", n)
		}
		out = append(out, last...)
	}
	return out, nil
}

// substitute replaces ${name} by the quoted value that a step captured.
func substitute(text string, vars map[string]string, quote func(string) string) (string, error) {
	var missing string
	text = variable.ReplaceAllStringFunc(text, func(m string) string {
		v, ok := vars[m[2:len(m)-1]]
		if !ok {
			missing = m
		}
		return quote(v)
	})
	if missing != "" {
		return "", fmt.Errorf("%s was never captured", missing)
	}
	return text, nil
}

func TestExpand(t *testing.T) {
	three := 3
	for _, c := range []struct {
		text   string
		repeat *int
		want   string
	}{
		{`a\r\n\t\\\"\0\x7f`, nil, "a\r\n\t\\\"\x00\x7f"},
		{`<\{3*ab\r}>`, nil, "<ab\rab\rab\r>"},
		{`é`, nil, "é"},
		{`x{i:05d},{n}\n`, &three, "x00000,1\nx00001,2\nx00002,3\n"},
		{`x{i:05d}`, nil, "x{i:05d}"},
		{`ab`, &three, "ababab"},
		{`${me}!`, nil, "42!"},
	} {
		got, err := expand(c.text, c.repeat, map[string]string{"me": "42"})
		if err != nil || string(got) != c.want {
			t.Errorf("expand(%q) = %q, %v; want %q", c.text, got, err, c.want)
		}
	}
	for _, bad := range []string{`\q`, `\`, `\x1`, `\xzz`, `\{3*a`, `\{x*a}`, `${nobody}`} {
		if got, err := expand(bad, nil, nil); err == nil {
			t.Errorf("expand(%q) = %q, want an error", bad, got)
		}
	}
}
