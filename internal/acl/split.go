package acl

import "strings"

// mergeSelectors returns rules with every selector in one piece: clients and
// files may spread one over several words. It returns an *unmatchedError for
// one that does not end.
func mergeSelectors(rules []string) ([]string, error) {
	merged := make([]string, 0, len(rules))
	for i := 0; i < len(rules); i++ {
		if !strings.HasPrefix(rules[i], "(") || strings.HasSuffix(rules[i], ")") {
			merged = append(merged, rules[i])
			continue
		}
		end := i + 1
		for end < len(rules) && !strings.HasSuffix(rules[end], ")") {
			end++
		}
		if end == len(rules) {
			return nil, &unmatchedError{rules[i]}
		}
		merged = append(merged, strings.Join(rules[i:end+1], " "))
		i = end
	}
	return merged, nil
}

// splitSelector splits what stands between a selector's parentheses into
// rules, by Redis's rules for the words of a line: within double quotes \n,
// \r, \t, \a, \b and \xHH stand for a byte and a backslash makes any other byte
// stand for itself; within single quotes only \' is special; a closing quote
// ends its word. It reports whether the quotes are balanced.
func splitSelector(text string) (rules []string, ok bool) {
	for i := 0; ; {
		for i < len(text) && isSpace(text[i]) {
			i++
		}
		if i == len(text) {
			return rules, true
		}
		var rule []byte
		var quote byte
		for ; i < len(text) && (quote != 0 || !isSpace(text[i])); i++ {
			c := text[i]
			switch {
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case quote == 0:
				rule = append(rule, c)
			case c == quote:
				quote = 0
				if i+1 < len(text) && !isSpace(text[i+1]) {
					return nil, false
				}
			case c == '\\' && quote == '"':
				var n int
				c, n = unescape(text[i:])
				rule = append(rule, c)
				i += n - 1
			case c == '\\' && strings.HasPrefix(text[i:], `\'`):
				rule = append(rule, '\'')
				i++
			default:
				rule = append(rule, c)
			}
		}
		if quote != 0 {
			return nil, false
		}
		rules = append(rules, string(rule))
	}
}

// unescape returns the byte that the escape sequence at the start of s stands
// for, and the length of the sequence.
func unescape(s string) (c byte, n int) {
	if len(s) < 2 {
		return '\\', 1
	}
	if s[1] == 'x' && len(s) >= 4 {
		hi, okHi := hexDigit(s[2])
		lo, okLo := hexDigit(s[3])
		if okHi && okLo {
			return hi<<4 | lo, 4
		}
	}
	if i := strings.IndexByte("nrtab", s[1]); i >= 0 {
		return "\n\r\t\a\b"[i], 2
	}
	return s[1], 2
}

func hexDigit(c byte) (value byte, ok bool) {
	switch c = lower(c); {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// quoteInSelector returns a rule as it must stand in a selector to be read
// back: a quote would open one, and a ')' at the end of a word ends the
// selector.
func quoteInSelector(rule string) string {
	if !strings.ContainsAny(rule, `"'`) && !strings.HasSuffix(rule, ")") {
		return rule
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(rule) + `"`
}

// isSpace is C's isspace.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// hasSpaceOrNUL reports whether s has a byte that neither names nor patterns
// may have, because what shows them does not quote.
func hasSpaceOrNUL(s string) bool {
	for i := range len(s) {
		if isSpace(s[i]) || s[i] == 0 {
			return true
		}
	}
	return false
}
