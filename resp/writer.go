package resp

import (
	"strings"

	"github.com/tidwall/redcon"
)

// Proto is a version of the wire protocol, as HELLO negotiates it.
type Proto uint8

// The two versions there are.
const (
	RESP2 Proto = 2
	RESP3 Proto = 3
)

// A Writer appends encoded replies to B for a client that speaks Proto; any
// Proto but RESP3 is taken for RESP2. Types that RESP2 lacks are written as
// Redis writes them there. The caller owns B before, between and after the
// calls, and may replace it or append frames to it; no argument is kept.
//
// Aggregates are written as a header, and the caller appends the elements. No
// method checks that it does.
//
// Where redcon's encoders give exactly these bytes they are used: integers,
// arrays and bulk strings. Not for simple strings and errors, which redcon
// leaves with NULs and searches twice, and not in frame.go, where a frame is
// built per message.
type Writer struct {
	B     []byte
	Proto Proto
}

// Simple appends a simple string. As in Error, line breaks and NULs become
// blanks.
func (w *Writer) Simple(s string) { w.B = appendLine(w.B, '+', s) }

// OK appends the simple string OK.
func (w *Writer) OK() { w.B = append(w.B, "+OK\r\n"...) }

// Error appends an error. msg is the text with its code and without the leading
// '-': "ERR syntax error". Messages echo what clients sent, and a line break in
// one would be a second, forged reply: like Redis, CRs and LFs at either end
// are dropped and others become blanks. NULs become blanks too; Redis cannot
// have one there, its texts are C strings.
func (w *Writer) Error(msg string) { w.B = appendLine(w.B, '-', strings.Trim(msg, "\r\n")) }

// ProtocolError appends the reply to a ProtocolError that Decode returned.
func (w *Writer) ProtocolError(err error) {
	w.B = append(w.B, "-ERR "...)
	w.B = append(w.B, err.Error()...)
	w.B = append(w.B, '\r', '\n')
}

// Int appends an integer. One digit, which most PUBLISH replies have, takes a
// third of the time of the general form.
func (w *Writer) Int(n int64) {
	if uint64(n) < 10 {
		w.B = append(w.B, ':', byte('0'+n), '\r', '\n')
		return
	}
	w.B = redcon.AppendInt(w.B, n)
}

// Bulk appends a bulk string; nil is the empty string.
func (w *Writer) Bulk(b []byte) { w.B = redcon.AppendBulk(w.B, b) }

// BulkString appends a bulk string.
func (w *Writer) BulkString(s string) { w.B = redcon.AppendBulkString(w.B, s) }

// Null appends the null of a single value: a null bulk string in RESP2.
func (w *Writer) Null() { w.B = appendNull(w.B, w.Proto) }

// NullArray appends the null in place of an array, which differs from Null in
// RESP2 only.
func (w *Writer) NullArray() {
	if w.Proto == RESP3 {
		w.B = append(w.B, "_\r\n"...)
	} else {
		w.B = append(w.B, "*-1\r\n"...)
	}
}

// Array begins an array of n elements.
func (w *Writer) Array(n int) { w.B = redcon.AppendArray(w.B, n) }

// Map begins a map of n pairs, each a key and a value: in RESP2 an array of 2n.
func (w *Writer) Map(n int) {
	if w.Proto == RESP3 {
		w.B = appendHead(w.B, '%', n)
	} else {
		w.B = redcon.AppendArray(w.B, 2*n)
	}
}

// Set begins a set of n elements: in RESP2 an array.
func (w *Writer) Set(n int) { w.aggregate('~', n) }

// Push begins out-of-band data of n elements: in RESP2 an array.
func (w *Writer) Push(n int) { w.aggregate('>', n) }

// Attribute begins n pairs of attributes of the value that follows them and
// reports whether it did: RESP2 has no place for attributes, nothing is written
// and the caller leaves the pairs out.
func (w *Writer) Attribute(n int) bool {
	if w.Proto != RESP3 {
		return false
	}
	w.B = appendHead(w.B, '|', n)
	return true
}

// Verbatim appends text whose format is named by the three letters ext, "txt"
// or "mkd": in RESP2 a bulk string without them. A shorter ext is filled with
// blanks and a longer one cut, as in Redis.
func (w *Writer) Verbatim(ext, text string) {
	if w.Proto != RESP3 {
		w.B = redcon.AppendBulkString(w.B, text)
		return
	}
	w.B = appendHead(w.B, '=', len(text)+4)
	for i := range 3 {
		c := byte(' ')
		if i < len(ext) {
			c = ext[i]
		}
		w.B = append(w.B, c)
	}
	w.B = append(w.B, ':')
	w.B = append(w.B, text...)
	w.B = append(w.B, '\r', '\n')
}

// Double appends a floating-point number in the notation of redis 8: in RESP2
// a bulk string of the same digits.
func (w *Writer) Double(f float64) {
	var buf [maxDoubleBytes]byte
	digits := appendDouble(buf[:0], f)
	if w.Proto != RESP3 {
		w.B = redcon.AppendBulk(w.B, digits)
		return
	}
	w.B = append(w.B, ',')
	w.B = append(w.B, digits...)
	w.B = append(w.B, '\r', '\n')
}

// Bool appends a truth value: in RESP2 the integer 1 or 0.
func (w *Writer) Bool(b bool) {
	reply := ":0\r\n"
	switch {
	case w.Proto == RESP3 && b:
		reply = "#t\r\n"
	case w.Proto == RESP3:
		reply = "#f\r\n"
	case b:
		reply = ":1\r\n"
	}
	w.B = append(w.B, reply...)
}

// BigNumber appends an integer of any size, given in decimal: in RESP2 a bulk
// string.
func (w *Writer) BigNumber(digits string) {
	if w.Proto == RESP3 {
		w.B = appendLine(w.B, '(', digits)
	} else {
		w.B = redcon.AppendBulkString(w.B, digits)
	}
}

func (w *Writer) aggregate(kind byte, n int) {
	if w.Proto == RESP3 {
		w.B = appendHead(w.B, kind, n)
	} else {
		w.B = redcon.AppendArray(w.B, n)
	}
}

func appendNull(dst []byte, proto Proto) []byte {
	if proto == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "$-1\r\n"...)
}

// appendLine appends a value that is one line, with a blank for each byte that
// would end it early.
func appendLine(dst []byte, kind byte, s string) []byte {
	dst = append(dst, kind)
	from := len(dst)
	dst = append(dst, s...)
	for i, c := range dst[from:] {
		if c == '\r' || c == '\n' || c == 0 {
			dst[from+i] = ' '
		}
	}
	return append(dst, '\r', '\n')
}
