package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A redisError is an error whose text is Redis's own, byte for byte, because
// scripts match it.
type redisError string

func (e redisError) Error() string { return string(e) }

const (
	errNotInteger = redisError("argument couldn't be parsed into an integer")
	errNotOctal   = redisError("argument couldn't be parsed as an octal number")
	errNotMemory  = redisError("argument must be a memory value")
)

var errMemoryOverflow = errors.New("memory value does not fit 63 bits")

func rangeError(lo, hi int64) error {
	return redisError(fmt.Sprintf("argument must be between %d and %d inclusive", lo, hi))
}

func octalRangeError(hi uint64) error {
	return redisError(fmt.Sprintf("argument must be between 0 and %o inclusive", hi))
}

func inRange(n, lo, hi int64) error {
	if n < lo || n > hi {
		return rangeError(lo, hi)
	}
	return nil
}

// parseInt reads a decimal integer from lo to hi the way Redis does: no
// blanks, no plus sign, no leading zeros.
func parseInt(s string, lo, hi int64) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != s {
		return 0, errNotInteger
	}
	return n, inRange(n, lo, hi)
}

// parseOctal reads an octal number from 0 to hi, leading zeros allowed.
func parseOctal(s string, hi uint64) (uint32, error) {
	n, err := strconv.ParseInt(s, 8, 64)
	if err != nil {
		return 0, errNotOctal
	}
	if n < 0 || uint64(n) > hi {
		return 0, octalRangeError(hi)
	}
	return uint32(n), nil
}

// parseMemory reads a number of bytes with one of Redis's units, in any
// case: b, k, kb, m, mb, g, gb, where the ones without a b are decimal. A
// value that does not fit is errMemoryOverflow; Redis lets it wrap around,
// which turns a large limit into a small one.
func parseMemory(s string) (int64, error) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	unit, ok := memoryUnit(s[digits:])
	if digits == 0 || !ok {
		return 0, errNotMemory
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if err != nil || n > math.MaxInt64/unit {
		return 0, errMemoryOverflow
	}
	return n * unit, nil
}

// memoryUnit returns the number of bytes in the named unit.
func memoryUnit(name string) (bytes int64, ok bool) {
	switch strings.ToLower(name) {
	case "", "b":
		return 1, true
	case "k":
		return 1000, true
	case "kb":
		return 1 << 10, true
	case "m":
		return 1000 * 1000, true
	case "mb":
		return 1 << 20, true
	case "g":
		return 1000 * 1000 * 1000, true
	case "gb":
		return 1 << 30, true
	}
	return 0, false
}

// formatSeconds prints d in seconds, a started one counted whole, so that a
// positive duration never reads as 0, which means something else.
func formatSeconds(d time.Duration) string {
	s := d / time.Second
	if d%time.Second > 0 {
		s++
	}
	return strconv.FormatInt(int64(s), 10)
}
