package command

import (
	"bytes"
	"math"
)

// maxIntBytes is the length of the longest 64-bit number, sign included.
const maxIntBytes = 20

// parseInt reads a number the way Redis does: decimal digits with an optional
// minus, and nothing else; no plus, no leading zeros, no blanks, no "-0".
func parseInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > maxIntBytes {
		return 0, false
	}
	if len(b) == 1 && b[0] == '0' {
		return 0, true
	}
	digits := b
	negative := b[0] == '-'
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	limit := uint64(1<<63 - 1)
	if negative {
		limit = 1 << 63
	}
	var n uint64
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		v := uint64(d - '0')
		if n > (limit-v)/10 {
			return 0, false
		}
		n = n*10 + v
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// is reports whether a word from a client is option, which is in upper case;
// the word may be in any.
func is(word []byte, option string) bool {
	if len(word) != len(option) {
		return false
	}
	for i, b := range word {
		if 'a' <= b && b <= 'z' {
			b -= 'a' - 'A'
		}
		if b != option[i] {
			return false
		}
	}
	return true
}

// cString cuts b before its first NUL, as Redis does where it prints an
// argument as a C string.
func cString(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// printable reports whether b could stand in a line of CLIENT LIST: ASCII,
// visible, no blanks.
func printable(b []byte) bool {
	for _, c := range b {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

// parseUint reads a number the way C does where Redis leaves it to C: decimal
// digits, leading zeros included, behind an optional plus.
func parseUint(b []byte) (uint64, bool) {
	if len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var n uint64
	for _, d := range b {
		v := uint64(d - '0')
		if d < '0' || d > '9' || n > (math.MaxUint64-v)/10 {
			return 0, false
		}
		n = n*10 + v
	}
	return n, true
}
