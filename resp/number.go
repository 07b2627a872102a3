package resp

import "math"

// parseInteger reads a decimal integer as strictly as Redis's string2ll: no
// sign but one minus, no leading zero, no blank, nothing after the digits, and
// the range of int64. In particular "-0", "+1", "01" and "" are not integers.
func parseInteger(b []byte) (v int64, ok bool) {
	if len(b) == 1 && b[0] == '0' {
		return 0, true
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	// 19 digits cannot overflow a uint64, and the twentieth is beyond int64.
	if len(b) == 0 || len(b) > 19 || b[0] == '0' {
		return 0, false
	}
	var u uint64
	for _, c := range b {
		digit := c - '0'
		if digit > 9 {
			return 0, false
		}
		u = u*10 + uint64(digit)
	}
	if negative {
		// The magnitude of MinInt64 is one more than MaxInt64; negating it
		// as an int64 wraps to itself, which is the value meant.
		return -int64(u), u <= math.MaxInt64+1
	}
	return int64(u), u <= math.MaxInt64
}

// shortDigits is how many digits the decoder's fast path takes: the value fits
// an int of 32 bits, so no overflow has to be looked for.
const shortDigits = 9

// parseShort reads a positive length of at most shortDigits digits that begins
// at buf[pos] and ends with a CR. It returns the value and the offset behind
// the CR and the byte after it, or next 0 when the bytes are anything else:
// longer, malformed or not all there, that last byte included.
func parseShort(buf []byte, pos int) (v, next int) {
	digits := buf[pos:min(len(buf), pos+shortDigits+1)]
	for i, c := range digits {
		digit := c - '0'
		if digit > 9 {
			if next = pos + i + 2; c != '\r' || i == 0 || next > len(buf) {
				return 0, 0
			}
			return v, next
		}
		v = v*10 + int(digit)
		if v == 0 {
			return 0, 0 // a leading zero, or a lone one, which is not for here
		}
	}
	return 0, 0
}
