package resp

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reference decodes a whole stream at once, written for clarity and apart from
// the decoder: it knows no progress, no scratch and no fast path.
func reference(stream string, limits Limits) (o outcome) {
	line := func(s string, end string) (text, rest string, found, tooLong bool) {
		i := strings.IndexAny(s, end+"\x00")
		if i < 0 || s[i] == 0 || i > limits.InlineBytes {
			return "", "", false, len(s) > limits.InlineBytes
		}
		return s[:i], s[i+1:], true, false
	}
	number := func(s string) (int64, bool) {
		v, err := strconv.ParseInt(s, 10, 64)
		return v, err == nil && strconv.FormatInt(v, 10) == s
	}
	for s := stream; ; {
		if s == "" {
			return o
		}
		o.rest = len(s)
		if s[0] != '*' {
			text, rest, found, tooLong := line(s, "\n")
			if tooLong {
				return outcome{o.commands, 0, "Protocol error: too big inline request"}
			}
			if !found {
				return o
			}
			words, ok := referenceSplit(strings.TrimSuffix(text, "\r"))
			if !ok {
				return outcome{o.commands, 0, unbalanced}
			}
			o.commands = append(o.commands, words)
			s, o.rest = rest, 0
			continue
		}
		text, rest, found, tooLong := line(s, "\r")
		if tooLong {
			return outcome{o.commands, 0, "Protocol error: too big mbulk count string"}
		}
		if !found || rest == "" {
			return o
		}
		count, ok := number(text[1:])
		if !ok || count > int64(limits.Args) {
			return outcome{o.commands, 0, invalidMultibulk}
		}
		if count > 10 && limits.Unauthenticated {
			return outcome{o.commands, 0, "Protocol error: unauthenticated multibulk length"}
		}
		rest = rest[1:]
		var args []string
		for range count {
			text, after, found, tooLong := line(rest, "\r")
			if tooLong {
				return outcome{o.commands, 0, "Protocol error: too big bulk count string"}
			}
			if !found || after == "" {
				return o
			}
			if first := (text + " ")[:1]; first != "$" {
				return outcome{o.commands, 0, "Protocol error: expected '$', got '" + strings.ReplaceAll(first, "\n", " ") + "'"}
			}
			size, ok := number(text[1:])
			if !ok || size < 0 || size > int64(limits.BulkBytes) {
				return outcome{o.commands, 0, invalidBulk}
			}
			if size > 16384 && limits.Unauthenticated {
				return outcome{o.commands, 0, "Protocol error: unauthenticated bulk length"}
			}
			after = after[1:]
			if int64(len(after)) < size+2 {
				return o
			}
			args = append(args, after[:size])
			rest = after[size+2:]
		}
		o.commands = append(o.commands, args)
		s, o.rest = rest, 0
	}
}

// referenceSplit splits an inline command, one state per kind of text.
func referenceSplit(line string) (words []string, ok bool) {
	const blanks = " \t\n\v\f\r"
	const (
		between = iota
		word
		double
		single
		closed
	)
	state, current := between, ""
	for len(line) > 0 {
		c := line[:1]
		line = line[1:]
		switch state {
		case closed, between:
			if strings.Contains(blanks, c) {
				state = between
				continue
			}
			if state == closed {
				return nil, false
			}
			state, current = word, ""
			fallthrough
		case word:
			switch {
			case c == `"`:
				state = double
			case c == `'`:
				state = single
			case strings.Contains(" \t\n\r", c):
				words, state = append(words, current), between
			default:
				current += c
			}
		case double:
			escapes := map[string]string{"n": "\n", "r": "\r", "t": "\t", "b": "\b", "a": "\a"}
			switch {
			case c == `"`:
				words, state = append(words, current), closed
			case c == `\` && len(line) > 0:
				if v, err := strconv.ParseUint(line[1:min(3, len(line))], 16, 8); line[0] == 'x' && len(line) >= 3 && err == nil {
					current += string([]byte{byte(v)})
					line = line[3:]
					continue
				}
				if e, found := escapes[line[:1]]; found {
					current += e
				} else {
					current += line[:1]
				}
				line = line[1:]
			default:
				current += c
			}
		case single:
			switch {
			case c == `'`:
				words, state = append(words, current), closed
			case c == `\` && strings.HasPrefix(line, `'`):
				current += `'`
				line = line[1:]
			default:
				current += c
			}
		}
	}
	if state == word {
		words = append(words, current)
	}
	return words, state != double && state != single
}

// FuzzDecode compares the decoder with the reference, for any segments, with a
// decoder that has already served other clients.
func FuzzDecode(f *testing.F) {
	for _, c := range decodeCases {
		f.Add([]byte(c.stream), uint16(3), uint8(0))
	}
	for _, c := range inlineCases {
		f.Add([]byte(c.stream), uint16(7), uint8(1))
	}
	for i, stream := range []string{
		"*0", "*-1", "*2147483648", "$", "$5\r\n", "\r", "\n", "\x00", "*1\r\n$9223372036854775807\r\nx\r\n",
		"*1\r\n$4\r\nPING\r", "*11\r\n", "*1\r\n$16385\r\n", "*3\r\n$1\r\na\r\n$1\r\nb\r\n$3\r\nabc\r\nPING\r\n*1\r\n$1\r",
		strings.Repeat("1", 200), "*1\r\n$" + strings.Repeat("0", 200), strings.Repeat("\x00", 65<<10), strings.Repeat("*", 65<<10),
		strings.Repeat("*0\r\n", 50), "*300\r\n" + strings.Repeat("$2\r\nab\r\n", 300),
	} {
		f.Add([]byte(stream), uint16(i), uint8(i))
	}
	warm := command("SSUBSCRIBE", strings.Repeat("w", 40), "x", "y", "z") + "ECHO \"scratch of the last client\"\n" + command("a", "b")
	f.Fuzz(func(t *testing.T, stream []byte, seed uint16, mode uint8) {
		limits := DefaultLimits()
		if mode&1 != 0 {
			limits.InlineBytes = minLineBytes
		}
		if mode&2 != 0 {
			limits.Args, limits.BulkBytes = 20, 30
		}
		limits.Unauthenticated = mode&4 != 0
		want := reference(string(stream), limits)

		whole := &Decoder{Limits: limits}
		if got := feed(t, whole, bytes.Clone(stream)); !got.equal(want) {
			t.Fatalf("in one piece:\ngot  %v\nwant %v", got, want)
		}
		used := &Decoder{Limits: DefaultLimits()}
		feed(t, used, []byte(warm))
		used.Limits = limits
		if got := feed(t, used, bytes.Clone(stream), segments(len(stream), uint32(seed))...); !got.equal(want) {
			t.Fatalf("in pieces:\ngot  %v\nwant %v", got, want)
		}
	})
}

// segments returns places to cut n bytes at, of sizes that depend on seed, at
// most a few hundred of them.
func segments(n int, seed uint32) (cuts []int) {
	longest := max(1, int(seed%29), n/200)
	for at := 0; ; {
		seed = seed*1664525 + 1013904223
		at += 1 + int(seed>>16)%longest
		if at >= n {
			return cuts
		}
		cuts = append(cuts, at)
	}
}

// FuzzInline checks that arguments written with quotes come back, and that any
// line is split as the reference splits it.
func FuzzInline(f *testing.F) {
	f.Add([]byte("PING"), []byte("a b"), []byte("\x00\xff"), uint8(0))
	f.Add([]byte("it's"), []byte(`"\`), []byte(""), uint8(1))
	f.Add([]byte(`'\''`), []byte("\r\n\v"), []byte(`\x41`), uint8(5))
	for _, c := range inlineCases {
		f.Add([]byte(c.stream), []byte("x"), []byte("y z"), uint8(3))
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte, mode uint8) {
		d := &Decoder{Limits: DefaultLimits()}
		var p Partial
		if len(a)+len(b)+len(c) < 10<<10 {
			line := quoteInline(nil, a, mode)
			line = append(quoteInline(append(line, ' '), b, mode/3), " \t"...)
			line = append(quoteInline(line, c, mode/9), '\r', '\n')
			if line[0] != '*' {
				args, n, err := d.Decode(&p, line)
				if err != nil || n != len(line) || !slices.EqualFunc(args, [][]byte{a, b, c}, bytes.Equal) {
					t.Fatalf("%q: got %q, %d bytes, error %v, want %q", line, args, n, err, [][]byte{a, b, c})
				}
			}
		}
		line := bytes.ReplaceAll(a, []byte{0}, nil)
		line = bytes.ReplaceAll(line, []byte("\n"), []byte(`\n`))
		if len(line) > 0 && line[0] == '*' || len(line) > 60<<10 {
			return
		}
		want, ok := referenceSplit(string(bytes.TrimSuffix(line, []byte("\r"))))
		args, _, err := d.Decode(&p, append(line, '\n'))
		if (err == nil) != ok {
			t.Fatalf("%q: error %v, want ok %v", line, err, ok)
		}
		if got := fmt.Sprintf("%q", args); ok && got != fmt.Sprintf("%q", want) {
			t.Fatalf("%q: got %s, want %q", line, got, want)
		}
	})
}
