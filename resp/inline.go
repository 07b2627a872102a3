package resp

// inline decodes a command that is a line of words, as a person types it.
func (d *Decoder) inline(p *Partial, buf []byte) (args [][]byte, n int, err error) {
	d.release()
	lf, tooLong := p.lineEnd(buf, '\n', d.Limits.lineBytes())
	if tooLong {
		p.Reset()
		return nil, 0, errInlineLine
	}
	if lf < 0 {
		return nil, 0, nil
	}
	p.Reset()
	line := buf[:lf]
	if lf > 0 && line[lf-1] == '\r' {
		line = line[:lf-1]
	}
	if !d.split(line) {
		d.release()
		return nil, 0, errQuotes
	}
	if len(d.args) == 0 {
		return nil, lf + 1, nil
	}
	return d.args, lf + 1, nil
}

// split appends the words of an inline command to d.args by the rules of
// Redis's sdssplitargs, and reports false when a quote is not closed or its
// closing is not followed by a blank. line holds no NUL. A word without quotes
// is a view into line; a quoted one lies in scratch, for which the length of
// the line suffices, since no escape is shorter than what it stands for.
func (d *Decoder) split(line []byte) bool {
	scratch := d.scratch[:0]
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return true
		}
		start := i
		for i < len(line) && !endsWord(line[i]) && line[i] != '"' && line[i] != '\'' {
			i++
		}
		if i == len(line) || endsWord(line[i]) {
			d.args = append(d.args, line[start:i:i])
			i = min(i+1, len(line))
			continue
		}
		if cap(scratch) < len(line) {
			scratch = make([]byte, 0, len(line))
			d.scratch = scratch
		}
		from := len(scratch)
		scratch = append(scratch, line[start:i]...)
		used := 0
		if line[i] == '"' {
			scratch, used = unquoteDouble(scratch, line[i:])
		} else {
			scratch, used = unquoteSingle(scratch, line[i:])
		}
		i += used
		if used == 0 || i < len(line) && !isSpace(line[i]) {
			return false
		}
		d.args = append(d.args, scratch[from:len(scratch):len(scratch)])
	}
}

// unquoteDouble appends what the double-quoted text at the front of s stands
// for and returns how many bytes it has with its quotes, 0 if it has no end.
func unquoteDouble(dst, s []byte) ([]byte, int) {
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			return dst, i + 1
		case c == '\\' && i+3 < len(s) && s[i+1] == 'x' && isHex(s[i+2]) && isHex(s[i+3]):
			dst = append(dst, hexValue(s[i+2])<<4|hexValue(s[i+3]))
			i += 3
		case c == '\\' && i+1 < len(s):
			i++
			dst = append(dst, unescape(s[i]))
		default:
			dst = append(dst, c)
		}
	}
	return dst, 0
}

// unquoteSingle is unquoteDouble for single quotes, where \' is the only escape.
func unquoteSingle(dst, s []byte) ([]byte, int) {
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\'':
			return dst, i + 1
		case c == '\\' && i+1 < len(s) && s[i+1] == '\'':
			i++
			dst = append(dst, '\'')
		default:
			dst = append(dst, c)
		}
	}
	return dst, 0
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

// isSpace is C's isspace. It separates words, but inside a word only the bytes
// of endsWord end it: a vertical tab or form feed is skipped before a word and
// belongs to it after its first byte.
func isSpace(c byte) bool { return c == ' ' || c-'\t' < 5 }

func endsWord(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isHex(c byte) bool { return c-'0' < 10 || (c|0x20)-'a' < 6 }

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}
