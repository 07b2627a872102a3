// Package glob matches names against Redis's glob patterns, byte for byte as
// Redis does, and extracts the literal text that a pattern requires.
//
// It deliberately is not path.Match or a shell's glob: bytes, not runes; no
// braces; malformed patterns have a meaning instead of an error.
//
// Everything here is a pure function that any goroutine may call.
package glob
