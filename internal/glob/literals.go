package glob

// A Shape says how much of a pattern its literals tell.
type Shape uint8

const (
	// Complex: the literals are necessary, not sufficient; Match decides.
	Complex Shape = iota
	// Affix: the pattern is exactly prefix*suffix. A name that is at least as
	// long as both together, not empty, and has them matches.
	Affix
	// Exact: the pattern has no wildcard; prefix is the only name it matches.
	Exact
)

// Literals returns the text that every name matching pattern begins and ends
// with, unescaped. A matching name is at least as long as both together: they
// do not overlap in it. For Exact patterns suffix is empty.
//
// They are what an index of patterns is built on: a pattern whose prefix or
// suffix a name does not have need not be looked at.
func Literals(pattern string) (prefix, suffix string, shape Shape) {
	prefix, rest := literalRun(pattern)
	if rest == "" {
		return prefix, "", Exact
	}
	// Walk the elements behind the prefix; the suffix is the text behind the
	// last wildcard.
	stars, others := 0, 0
	for rest != "" {
		switch rest[0] {
		case '*':
			if stars == 0 || suffix != "" || others > 0 {
				stars++
			}
			rest = rest[1:]
			suffix = ""
		case '?':
			others++
			rest = rest[1:]
			suffix = ""
		case '[':
			others++
			n, _ := matchClass(rest, 0, false)
			rest = rest[n:]
			suffix = ""
		default:
			suffix, rest = literalRun(rest)
		}
	}
	if stars == 1 && others == 0 {
		return prefix, suffix, Affix
	}
	return prefix, suffix, Complex
}

// literalRun returns the literal bytes at the start of p, unescaped, and what
// follows them.
func literalRun(p string) (literal, rest string) {
	i := 0
	for i < len(p) && p[i] != '*' && p[i] != '?' && p[i] != '[' && p[i] != '\\' {
		i++
	}
	if i == len(p) || p[i] != '\\' {
		return p[:i], p[i:]
	}
	b := append(make([]byte, 0, len(p)), p[:i]...)
	for i < len(p) {
		switch p[i] {
		case '*', '?', '[':
			return string(b), p[i:]
		case '\\':
			if i+1 < len(p) {
				i++
			}
		}
		b = append(b, p[i])
		i++
	}
	return string(b), ""
}
