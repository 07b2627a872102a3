package config

import (
	"fmt"
	"strings"
)

// quoteWord writes a word so that [splitArgs] reads it as one, in double
// quotes where it must be.
func quoteWord(word string) string {
	plain := word != ""
	for i := range len(word) {
		if c := word[i]; c <= ' ' || c == '"' || c == '\'' || c == 0x7f {
			plain = false
		}
	}
	if plain {
		return word
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(word) {
		switch c := word[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if c < ' ' || c == 0x7f {
				fmt.Fprintf(&b, `\x%02x`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quoteLine writes words as the part of a line behind its directive.
func quoteLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteWord(w)
	}
	return strings.Join(quoted, " ")
}

// formatMemory writes a number of bytes with the largest unit that divides it.
func formatMemory(bytes int64) string {
	switch {
	case bytes == 0:
	case bytes%(1<<30) == 0:
		return fmt.Sprintf("%dgb", bytes>>30)
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%dmb", bytes>>20)
	case bytes%(1<<10) == 0:
		return fmt.Sprintf("%dkb", bytes>>10)
	}
	return fmt.Sprintf("%d", bytes)
}
