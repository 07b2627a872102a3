package glob

import "strings"

// MaxStars is the number of star groups (runs of '*') that a pattern may have
// and still match anything that needs them: Redis gives up at a recursion
// depth of 1000, one level for each.
const MaxStars = 1000

// Match reports whether name matches pattern.
//
// The grammar is that of Redis's stringmatchlen: '*' any run of bytes, '?' one
// byte, '[abc]' '[a-z]' '[^a]' one byte of a class, '\x' the byte x. An empty
// name matches only the empty pattern. Ranges compare bytes as signed numbers,
// as Redis does on x86.
//
// It does not recurse, and allocates in the worst case only. The text between two stars is looked for
// once, from left to right: whatever an earlier star could still swallow, a
// later one can as well. The text behind the last star can only be the end of
// the name. A piece is found by its longest run of plain bytes, with
// strings.Index; the steps stay near len(pattern) + len(name) unless that run
// occurs in the name again and again, or there is none. Then the piece is
// looked for with bits, in len(piece)/64 * len(name) steps: 4 KiB of classes
// that all match but the last take 2 ms on a name of 64 KiB, where trying each
// place, as Redis does, takes 800 (BenchmarkMatch/worst=classesOnly).
func Match(pattern, name string) bool {
	if name == "" {
		return pattern == "" // Redis's loop is not entered for an empty subject
	}
	// What stands before the first star is matched in place.
	for pattern != "" && pattern[0] != '*' {
		if name == "" {
			return false
		}
		c := pattern[0]
		if c == name[0] && c != '[' && c != '\\' { // most bytes: spare the call
			pattern, name = pattern[1:], name[1:]
			continue
		}
		n, ok := matchOne(pattern, name[0], false)
		if !ok {
			return false
		}
		pattern, name = pattern[n:], name[1:]
	}
	if pattern == "" {
		return name == ""
	}
	tries := 0
	for stars := 1; ; stars++ {
		for pattern != "" && pattern[0] == '*' {
			pattern = pattern[1:]
		}
		if pattern == "" {
			return true
		}
		if stars > MaxStars {
			return false
		}
		p := nextPiece(pattern)
		if len(name) < p.length {
			return false
		}
		if len(p.text) == len(pattern) {
			return p.matchAt(name[len(name)-p.length:])
		}
		at := p.index(name, &tries)
		if at < 0 {
			return false
		}
		pattern, name = pattern[len(p.text):], name[at+p.length:]
	}
}

// A piece is the part of a pattern between two stars, or behind the last. It
// matches names of one length only.
type piece struct {
	text    string
	length  int    // of what it matches
	literal string // the longest run of plain bytes in text
	offset  int    // of literal in what it matches
}

// nextPiece returns the piece at the start of a pattern.
func nextPiece(pattern string) piece {
	var p piece
	i := 0
	for i < len(pattern) && pattern[i] != '*' {
		start := i
		for i < len(pattern) && pattern[i] != '*' && pattern[i] != '?' && pattern[i] != '[' && pattern[i] != '\\' {
			i++
		}
		if run := i - start; run > 0 {
			if run > len(p.literal) {
				p.literal, p.offset = pattern[start:i], p.length
			}
			p.length += run
			continue
		}
		n, _ := matchOne(pattern[i:], 0, false)
		i += n
		p.length++
	}
	p.text = pattern[:i]
	return p
}

// matchAt reports whether the piece matches the start of name, which is at
// least as long.
func (p *piece) matchAt(name string) bool {
	if len(p.literal) == len(p.text) {
		return name[:p.length] == p.literal
	}
	text := p.text
	for i := 0; text != ""; i++ {
		n, ok := matchOne(text, name[i], false)
		if !ok {
			return false
		}
		text = text[n:]
	}
	return true
}

// maxTries is how many bytes of pieces one Match may compare in vain before it
// looks for them with bits.
const maxTries = 32 << 10

// index returns where the piece first matches in name, or -1.
// tries is the number of bytes of pieces that were compared in vain so far.
func (p *piece) index(name string, tries *int) int {
	for from := 0; from+p.length <= len(name); from++ {
		skip := strings.Index(name[from+p.offset:], p.literal)
		if skip < 0 {
			return -1
		}
		from += skip
		if from+p.length > len(name) {
			return -1
		}
		if p.matchAt(name[from:]) {
			return from
		}
		if *tries += len(p.text); *tries > maxTries {
			at := p.indexParallel(name[from+1:])
			if at >= 0 {
				at += from + 1
			}
			return at
		}
	}
	return -1
}

// MatchFold is Match without regard to the case of ASCII letters, as Redis
// matches the names of configuration parameters. Its worst case is
// len(pattern) * len(name) steps; it is meant for short names.
func MatchFold(pattern, name string) bool {
	if name == "" {
		return pattern == ""
	}
	pi, si := 0, 0
	starP, starS := -1, 0 // behind the last star; what it has swallowed so far
	for {
		if pi < len(pattern) && pattern[pi] == '*' {
			pi++
			starP, starS = pi, si
			continue
		}
		if si == len(name) {
			return pi == len(pattern)
		}
		if pi < len(pattern) {
			if n, ok := matchOne(pattern[pi:], name[si], true); ok {
				pi += n
				si++
				continue
			}
		}
		if starP < 0 {
			return false
		}
		starS++
		pi, si = starP, starS
	}
}

// matchOne matches one byte against the element at the start of p, which is
// not a star, and returns the element's length.
func matchOne(p string, c byte, fold bool) (n int, ok bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		return matchClass(p, c, fold)
	case '\\':
		if len(p) > 1 {
			return 2, equal(p[1], c, fold)
		}
	}
	return 1, equal(p[0], c, fold)
}

// matchClass matches c against the class at the start of p. A class ends at
// its first unescaped ']' or at the end of the pattern.
func matchClass(p string, c byte, fold bool) (n int, ok bool) {
	i := 1
	negated := i < len(p) && p[i] == '^'
	if negated {
		i++
	}
	found := false
	for ; i < len(p) && p[i] != ']'; i++ {
		switch {
		case p[i] == '\\' && i+1 < len(p):
			i++
			found = found || p[i] == c // escaped bytes are never folded
		case i+2 < len(p) && p[i+1] == '-':
			found = found || inRange(p[i], p[i+2], c, fold)
			i += 2
		default:
			found = found || equal(p[i], c, fold)
		}
	}
	if i < len(p) {
		i++ // the ']'
	}
	return i, found != negated
}

// inRange compares as signed bytes; ends in the wrong order are swapped.
func inRange(lo, hi, c byte, fold bool) bool {
	if fold {
		lo, hi, c = lower(lo), lower(hi), lower(c)
	}
	a, b, x := int8(lo), int8(hi), int8(c)
	if a > b {
		a, b = b, a
	}
	return a <= x && x <= b
}

func equal(a, b byte, fold bool) bool {
	return a == b || fold && lower(a) == lower(b)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
