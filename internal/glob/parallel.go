package glob

// indexParallel is index for a piece that costs too much to try at each place:
// it looks at each byte of name once and keeps, as bits, for every prefix of
// the piece whether it ends there. A step costs one operation per 64 elements
// of the piece. The algorithm is Shift-And: Baeza-Yates and Gonnet, A New
// Approach to Text Searching, CACM 35(10), 1992.
//
// It allocates 32 bytes for each element.
func (p *piece) indexParallel(name string) int {
	words := (p.length + 63) / 64
	// Bit i of accepts[c] says that element i matches c.
	accepts := make([]uint64, 256*words)
	text := p.text
	for i := 0; text != ""; i++ {
		word, bit := i/64, uint64(1)<<(i%64)
		n, set := elementSet(text)
		for c := range 256 {
			if set[c] {
				accepts[c*words+word] |= bit
			}
		}
		text = text[n:]
	}
	ends := make([]uint64, words) // bit i: the first i+1 elements match what ends here
	last, done := words-1, uint64(1)<<((p.length-1)%64)
	for at := range len(name) {
		row := accepts[int(name[at])*words:][:words]
		carry := uint64(1) // the piece may begin anywhere
		for w, v := range ends {
			ends[w] = (v<<1 | carry) & row[w]
			carry = v >> 63
		}
		if ends[last]&done != 0 {
			return at + 1 - p.length
		}
	}
	return -1
}

// elementSet returns the length of the element at the start of p, which is not
// a star, and the bytes that it matches.
func elementSet(p string) (n int, set [256]bool) {
	switch {
	case p[0] == '?':
		for c := range set {
			set[c] = true
		}
		return 1, set
	case p[0] == '[':
		return classSet(p)
	case p[0] == '\\' && len(p) > 1:
		set[p[1]] = true
		return 2, set
	}
	set[p[0]] = true
	return 1, set
}

// classSet is elementSet for a class; see matchClass.
func classSet(p string) (n int, set [256]bool) {
	i := 1
	negated := i < len(p) && p[i] == '^'
	if negated {
		i++
	}
	for ; i < len(p) && p[i] != ']'; i++ {
		switch {
		case p[i] == '\\' && i+1 < len(p):
			i++
			set[p[i]] = true
		case i+2 < len(p) && p[i+1] == '-':
			lo, hi := int8(p[i]), int8(p[i+2])
			for x := int(min(lo, hi)); x <= int(max(lo, hi)); x++ {
				set[byte(int8(x))] = true
			}
			i += 2
		default:
			set[p[i]] = true
		}
	}
	if i < len(p) {
		i++ // the ']'
	}
	if negated {
		for c := range set {
			set[c] = !set[c]
		}
	}
	return i, set
}
