package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits on what a server may make a client hold.
const (
	maxLineBytes  = 64 << 10  // of a status, an error or a number
	maxBulkBytes  = 512 << 20 // Redis's own limit of a string
	maxElements   = 1 << 24   // of one aggregate
	maxValueDepth = 32
)

// chunkBytes is how much of an announced string is allocated before it has
// come.
const chunkBytes = 64 << 10

// A value is one RESP2 or RESP3 value.
type value struct {
	kind  byte // the first byte on the wire
	null  bool
	text  string  // of a line or a string; of a verbatim string without its format
	elems []value // of an aggregate; keys and values of a map in turn
}

func (v value) isError() bool { return v.kind == '-' || v.kind == '!' }

// err returns what an error reply says, nil for any other value.
func (v value) err() error {
	if v.isError() {
		return errors.New(v.text)
	}
	return nil
}

var (
	errNotRESP  = errors.New("the server does not speak the Redis protocol")
	errTooLarge = errors.New("the server announced a reply that is too large")
)

// readValue reads the next value. Attributes are skipped.
func readValue(r *bufio.Reader) (value, error) { return readNested(r, 0) }

func readNested(r *bufio.Reader, depth int) (value, error) {
	if depth > maxValueDepth {
		return value{}, errTooLarge
	}
	for {
		kind, line, err := readLine(r)
		if err != nil {
			return value{}, err
		}
		v := value{kind: kind, text: line}
		switch kind {
		case '+', '-', ':', ',', '#', '(':
			return v, nil
		case '_':
			v.null = true
			return v, nil
		case '$', '!', '=':
			return readString(r, v)
		case '*', '~', '>', '%', '|':
			v, err = readAggregate(r, v, depth)
			if err != nil || kind != '|' {
				return v, err
			}
		default:
			return value{}, errNotRESP
		}
	}
}

// readLine reads a line without its end, and its first byte.
func readLine(r *bufio.Reader) (kind byte, text string, err error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return 0, "", err
		}
		if len(line) > maxLineBytes {
			return 0, "", errTooLarge
		}
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, "", errNotRESP
	}
	return line[0], string(line[1 : len(line)-2]), nil
}

// length parses the number behind the first byte of a string or an aggregate;
// null says that it stands for no value.
func (v value) length(limit int) (n int, null bool, err error) {
	n, err = strconv.Atoi(v.text)
	switch {
	case err != nil || n < -1:
		return 0, false, errNotRESP
	case n > limit:
		return 0, false, errTooLarge
	}
	return n, n < 0, nil
}

// readString reads the content of a string. What was announced is allocated as
// it comes.
func readString(r *bufio.Reader, v value) (value, error) {
	n, null, err := v.length(maxBulkBytes)
	v.text, v.null = "", null
	if err != nil || null {
		return v, err
	}
	var text []byte
	for missing := n + 2; missing > 0; {
		have := len(text)
		step := min(missing, max(chunkBytes, have))
		text = append(text, make([]byte, step)...)
		if _, err := io.ReadFull(r, text[have:]); err != nil {
			return v, unexpected(err)
		}
		missing -= step
	}
	if string(text[n:]) != "\r\n" {
		return v, errNotRESP
	}
	v.text = string(text[:n])
	if v.kind == '=' {
		if _, content, ok := strings.Cut(v.text, ":"); ok {
			v.text = content
		}
	}
	return v, nil
}

func readAggregate(r *bufio.Reader, v value, depth int) (value, error) {
	n, null, err := v.length(maxElements)
	v.text, v.null = "", null
	if err != nil || null {
		return v, err
	}
	if v.kind == '%' || v.kind == '|' {
		n *= 2
	}
	for range n {
		e, err := readNested(r, depth+1)
		if err != nil {
			return v, unexpected(err)
		}
		v.elems = append(v.elems, e)
	}
	return v, nil
}

// unexpected is err of a read within a value, where the end is an error.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// kindName describes a value of the wrong kind for an error.
func (v value) kindName() string { return fmt.Sprintf("a reply of type %q", v.kind) }
