package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Value is one RESP2 or RESP3 value.
type Value struct {
	// Type is the first byte on the wire: + - : $ * _ , # ( ! = % ~ > |.
	Type byte
	// Null is set for $-1, *-1 and _.
	Null bool
	// Text holds a line's or a bulk's content.
	Text string
	// Elems holds the elements of an aggregate; a map's keys and values in
	// turn.
	Elems []Value
}

// ErrNotRESP is returned for bytes that cannot begin a value.
var ErrNotRESP = errors.New("not a RESP value")

// maxDepth bounds the nesting that ParseValue follows; no reply comes near it.
const maxDepth = 32

// ParseValue reads one value at the start of b and returns it with its length
// in bytes. The value holds copies. io.ErrUnexpectedEOF says that b ends
// before the value does, ErrNotRESP that it is none.
func ParseValue(b []byte) (Value, int, error) { return parseValue(b, 0) }

func parseValue(b []byte, depth int) (Value, int, error) {
	if depth > maxDepth {
		return Value{}, 0, fmt.Errorf("%w: nested too deep", ErrNotRESP)
	}
	end := bytes.Index(b, []byte("\r\n"))
	if end < 0 {
		if len(b) > 0 && !strings.ContainsRune("+-:$*_,#(!=%~>|", rune(b[0])) {
			return Value{}, 0, ErrNotRESP
		}
		return Value{}, 0, io.ErrUnexpectedEOF
	}
	if end == 0 {
		return Value{}, 0, ErrNotRESP
	}
	v, line, pos := Value{Type: b[0]}, string(b[1:end]), end+2
	switch v.Type {
	case '+', '-', ':', ',', '#', '(':
		v.Text = line
		return v, pos, nil
	case '_':
		v.Null = true
		return v, pos, nil
	case '$', '!', '=':
		n, err := strconv.Atoi(line)
		if err != nil || n < -1 {
			return Value{}, 0, fmt.Errorf("%w: length %q", ErrNotRESP, line)
		}
		if n == -1 {
			v.Null = true
			return v, pos, nil
		}
		if len(b) < pos+n+2 {
			return Value{}, 0, io.ErrUnexpectedEOF
		}
		if string(b[pos+n:pos+n+2]) != "\r\n" {
			return Value{}, 0, fmt.Errorf("%w: bulk of %d bytes does not end there", ErrNotRESP, n)
		}
		v.Text = string(b[pos : pos+n])
		return v, pos + n + 2, nil
	case '*', '%', '~', '>', '|':
		n, err := strconv.Atoi(line)
		if err != nil || n < -1 {
			return Value{}, 0, fmt.Errorf("%w: length %q", ErrNotRESP, line)
		}
		if n == -1 {
			v.Null = true
			return v, pos, nil
		}
		if v.Type == '%' || v.Type == '|' {
			n *= 2
		}
		for range n {
			e, used, err := parseValue(b[pos:], depth+1)
			if err != nil {
				return Value{}, 0, err
			}
			v.Elems = append(v.Elems, e)
			pos += used
		}
		return v, pos, nil
	}
	return Value{}, 0, ErrNotRESP
}

// ParseAll reads the values that b consists of.
func ParseAll(b []byte) ([]Value, error) {
	var vs []Value
	for len(b) > 0 {
		v, n, err := ParseValue(b)
		if err != nil {
			return vs, err
		}
		vs = append(vs, v)
		b = b[n:]
	}
	return vs, nil
}

// Append appends the value's bytes as they came from the wire.
func (v Value) Append(b []byte) []byte {
	switch {
	case v.Type == '_':
		return append(b, "_\r\n"...)
	case v.Null:
		return append(append(b, v.Type), "-1\r\n"...)
	}
	switch v.Type {
	case '$', '!', '=':
		b = fmt.Appendf(b, "%c%d\r\n", v.Type, len(v.Text))
		b = append(b, v.Text...)
		return append(b, "\r\n"...)
	case '*', '~', '>':
		b = fmt.Appendf(b, "%c%d\r\n", v.Type, len(v.Elems))
	case '%', '|':
		b = fmt.Appendf(b, "%c%d\r\n", v.Type, len(v.Elems)/2)
	default:
		b = append(b, v.Type)
		b = append(b, v.Text...)
		return append(b, "\r\n"...)
	}
	for _, e := range v.Elems {
		b = e.Append(b)
	}
	return b
}

// String prints the value on one line, for messages of tests.
func (v Value) String() string {
	if v.Null {
		return "null"
	}
	switch v.Type {
	case '*', '~', '>', '%', '|':
		parts := make([]string, len(v.Elems))
		for i, e := range v.Elems {
			parts[i] = e.String()
		}
		return string(v.Type) + "[" + strings.Join(parts, " ") + "]"
	case '$', '=':
		return strconv.Quote(v.Text)
	}
	return string(v.Type) + v.Text
}

// Int returns the number that the value is; ok is false for any other value.
func (v Value) Int() (n int64, ok bool) {
	if v.Type != ':' {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	return n, err == nil
}

// Message returns what a frame of pub/sub says: its kind ("message",
// "subscribe", …) and the remaining elements. ok is false for any other
// value.
func (v Value) Message() (kind string, rest []Value, ok bool) {
	if (v.Type != '*' && v.Type != '>') || len(v.Elems) < 3 || v.Elems[0].Type != '$' {
		return "", nil, false
	}
	switch kind = v.Elems[0].Text; kind {
	case "message", "pmessage", "smessage",
		"subscribe", "psubscribe", "ssubscribe",
		"unsubscribe", "punsubscribe", "sunsubscribe":
		return kind, v.Elems[1:], true
	}
	return "", nil, false
}
