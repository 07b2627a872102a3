package resp

import (
	"math"
	"strconv"
)

// maxDoubleBytes is room for any number appendDouble writes: 17 digits, sign,
// point and up to six zeros or an exponent.
const maxDoubleBytes = 32

// maxPlainInteger bounds the integers that redis 8 prints with all their digits.
const maxPlainInteger = 1 << 62

// appendDouble appends f as redis 8 prints it: the fewest digits that read back
// as f, with an exponent where the rules of its d2string and fpconv_dtoa have
// one. They are not those of a verb of Go: 1e18 and 0.000001 are written out,
// 1e19 is 1e+19 and 1e-7 has one digit of exponent.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case f == 0 && math.Signbit(f):
		return append(dst, "-0"...)
	case math.Abs(f) <= maxPlainInteger && f == math.Trunc(f):
		return strconv.AppendInt(dst, int64(f), 10)
	}
	if f < 0 {
		dst = append(dst, '-')
		f = -f
	}
	// "d.ddde±xx": the digits, and the power of ten of the first one.
	var buf [maxDoubleBytes]byte
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	e := len(text) - 1
	for text[e] != 'e' {
		e--
	}
	exponent, _ := strconv.Atoi(string(text[e+1:]))
	digits := append(text[:1], text[min(2, e):e]...)
	last := exponent - (len(digits) - 1) // power of ten of the last digit
	switch {
	case last >= 0 && exponent < len(digits)+7:
		dst = append(dst, digits...)
		for range last {
			dst = append(dst, '0')
		}
	case last < 0 && (last > -7 || max(exponent, -exponent) < 4):
		if exponent >= 0 {
			dst = append(dst, digits[:exponent+1]...)
			dst = append(dst, '.')
			return append(dst, digits[exponent+1:]...)
		}
		dst = append(dst, '0', '.')
		for range -exponent - 1 {
			dst = append(dst, '0')
		}
		dst = append(dst, digits...)
	default:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(dst, '.')
			dst = append(dst, digits[1:]...)
		}
		dst = append(dst, 'e')
		if exponent >= 0 {
			dst = append(dst, '+')
		}
		dst = strconv.AppendInt(dst, int64(exponent), 10)
	}
	return dst
}
