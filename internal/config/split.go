package config

import "errors"

var errUnbalanced = errors.New("Unbalanced quotes in configuration line")

// splitArgs splits a line of a configuration file into words the way Redis's
// sdssplitargs does. Within double quotes \n, \r, \t, \a, \b and \xHH stand
// for a byte and a backslash makes any other byte stand for itself; within
// single quotes only \' is special, and without quotes nothing is. A closing
// quote must end its word. Quotes may open within a word: a"b c" is one.
//
// line holds no NUL byte, which would end it for Redis. The only error is
// errUnbalanced.
func splitArgs(line string) ([]string, error) {
	var words []string
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return words, nil
		}
		word, next, err := splitWord(line, i)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		i = next
	}
}

// splitWord reads the word that begins at line[i] and returns it with the
// index behind it.
func splitWord(line string, i int) (string, int, error) {
	var word []byte
	for ; i < len(line); i++ {
		var err error
		switch c := line[i]; c {
		// Vertical tab and form feed separate words, yet do not end one.
		case ' ', '\n', '\r', '\t':
			return string(word), i, nil
		case '"':
			word, i, err = doubleQuoted(word, line, i+1)
		case '\'':
			word, i, err = singleQuoted(word, line, i+1)
		default:
			word = append(word, c)
			continue
		}
		// What follows a closing quote ends the word or is an error.
		if err == nil && i < len(line) && !isSpace(line[i]) {
			err = errUnbalanced
		}
		return string(word), i, err
	}
	return string(word), i, nil
}

// doubleQuoted appends to word what stands from line[i] to the closing double
// quote, and returns it with the index behind that quote.
func doubleQuoted(word []byte, line string, i int) ([]byte, int, error) {
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			return word, i + 1, nil
		case c == '\\' && i+3 < len(line) && line[i+1] == 'x' && isHex(line[i+2]) && isHex(line[i+3]):
			word = append(word, hexValue(line[i+2])<<4|hexValue(line[i+3]))
			i += 3
		case c == '\\' && i+1 < len(line):
			i++
			word = append(word, unescape(line[i]))
		default:
			word = append(word, c)
		}
	}
	return nil, 0, errUnbalanced
}

// singleQuoted is doubleQuoted for single quotes.
func singleQuoted(word []byte, line string, i int) ([]byte, int, error) {
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			return word, i + 1, nil
		case c == '\\' && i+1 < len(line) && line[i+1] == '\'':
			i++
			word = append(word, '\'')
		default:
			word = append(word, c)
		}
	}
	return nil, 0, errUnbalanced
}

// unescape returns the byte that a backslash and c stand for.
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

// isSpace is C's isspace in the C locale.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// hexValue returns the value of a digit that isHex accepts.
func hexValue(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
