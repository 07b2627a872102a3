package resp

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// readValue reads one RESP3 value as a client would, independently of the
// encoders, and returns it in a notation for tests with the bytes behind it.
func readValue(s string) (value, rest string, err error) {
	head, rest, found := strings.Cut(s, "\r\n")
	if !found || head == "" || strings.ContainsAny(head, "\r\n\x00") {
		return "", "", fmt.Errorf("no line at %q", s)
	}
	kind, head := head[0], head[1:]
	elements, perElement := 0, 1
	switch kind {
	case '+', '-':
		return string(kind) + head, rest, nil
	case ':':
		n, err := strconv.ParseInt(head, 10, 64)
		return fmt.Sprint(n), rest, err
	case '(':
		n, ok := new(big.Int).SetString(head, 10)
		if !ok {
			return "", "", fmt.Errorf("big number %q", head)
		}
		return "big " + n.String(), rest, nil
	case ',':
		f, err := strconv.ParseFloat(head, 64)
		return fmt.Sprintf("double %v", f), rest, err
	case '#':
		b, ok := map[string]string{"t": "true", "f": "false"}[head]
		if !ok {
			return "", "", fmt.Errorf("boolean %q", head)
		}
		return b, rest, nil
	case '_':
		if head != "" {
			return "", "", fmt.Errorf("null %q", head)
		}
		return "null", rest, nil
	case '$', '=':
		n, err := strconv.Atoi(head)
		if n == -1 && kind == '$' {
			return "null", rest, err
		}
		if err != nil || n < 0 || len(rest) < n+2 || rest[n:n+2] != "\r\n" {
			return "", "", fmt.Errorf("string of %q bytes at %q", head, rest)
		}
		text := strconv.Quote(rest[:n])
		if kind == '=' {
			if n < 4 || rest[3] != ':' {
				return "", "", fmt.Errorf("verbatim string %q", rest[:n])
			}
			text = rest[:4] + strconv.Quote(rest[4:n])
		}
		return text, rest[n+2:], nil
	case '*', '~', '>':
	case '%', '|':
		perElement = 2
	default:
		return "", "", fmt.Errorf("type %q", kind)
	}
	if elements, err = strconv.Atoi(head); elements == -1 && kind == '*' {
		return "null array", rest, err
	}
	if err != nil || elements < 0 {
		return "", "", fmt.Errorf("aggregate of %q", head)
	}
	var b strings.Builder
	b.WriteString(string(kind) + "[")
	for i := range elements * perElement {
		if i > 0 {
			b.WriteByte(' ')
		}
		if value, rest, err = readValue(rest); err != nil {
			return "", "", err
		}
		b.WriteString(value)
	}
	b.WriteByte(']')
	if kind == '|' {
		if value, rest, err = readValue(rest); err != nil {
			return "", "", err
		}
		b.WriteString(value)
	}
	return b.String(), rest, nil
}
