// INTERIM so that others can build: the owner of this room replaces and deletes this file.
package glob

const maxStars = 1000

func Match(pattern, name string) bool { return match(pattern, name, false) }
func MatchFold(pattern, name string) bool { return match(pattern, name, true) }

func lower(c byte, fold bool) byte {
	if fold && 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func match(p, s string, fold bool) bool {
	if s == "" {
		return p == ""
	}
	pi, si := 0, 0
	starP, starS := -1, 0
	stars := 0
	for {
		if pi < len(p) && p[pi] == '*' {
			for pi < len(p) && p[pi] == '*' {
				pi++
			}
			stars++
			if pi == len(p) {
				return true
			}
			if stars > maxStars {
				return false
			}
			starP, starS = pi, si
			continue
		}
		if si == len(s) {
			return pi == len(p)
		}
		if pi < len(p) {
			if n, ok := one(p[pi:], s[si], fold); ok {
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

func one(p string, c byte, fold bool) (int, bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		return class(p, c, fold)
	case '\\':
		if len(p) > 1 {
			return 2, lower(p[1], fold) == lower(c, fold)
		}
	}
	return 1, lower(p[0], fold) == lower(c, fold)
}

func class(p string, c byte, fold bool) (int, bool) {
	i := 1
	not := i < len(p) && p[i] == '^'
	if not {
		i++
	}
	ok := false
	for {
		switch {
		case i+1 < len(p) && p[i] == '\\':
			i++
			if p[i] == c {
				ok = true
			}
		case i < len(p) && p[i] == ']':
			return i + 1, ok != not
		case i >= len(p):
			return len(p), ok != not
		case i+2 < len(p) && p[i+1] == '-':
			lo, hi := int8(p[i]), int8(p[i+2])
			if lo > hi {
				lo, hi = hi, lo
			}
			if lo <= int8(c) && int8(c) <= hi {
				ok = true
			}
			i += 2
		default:
			if lower(p[i], fold) == lower(c, fold) {
				ok = true
			}
		}
		i++
	}
}
