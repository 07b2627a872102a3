package resp

import (
	"bytes"
	"slices"
)

// A Decoder turns bytes from the wire into commands. It holds scratch that is
// reused by every call, so one Decoder serves all sessions of an event loop,
// each with a Partial of its own.
type Decoder struct {
	// Limits may be changed between two calls, between two commands of one
	// session as well; a number that was accepted stays accepted.
	Limits Limits

	args    [][]byte // what the last call returned, and room for the next
	scratch []byte   // unquoted inline arguments
}

const (
	// minCommandBytes is the length of the shortest command of one argument:
	// "*1", CRLF and one empty argument.
	minCommandBytes = 4 + minArgBytes

	// keepArgs is the scratch that is kept when a command with very many
	// arguments is followed by one with few (24 KiB).
	keepArgs = 1024

	fewArgs = 16
)

// Decode parses at most one command from buf, which starts at the command's
// first byte. It never blocks. There are four answers:
//
//   - complete: args is not empty and n is the number of bytes consumed. The
//     arguments are views into buf or, for an inline command, partly into the
//     decoder's scratch; they are valid until the next call of Decode or
//     Release, and as long as buf is not written to. They are never nil. An
//     argument of a multibulk command has capacity for the two bytes of its
//     line end and no more.
//   - skip: no args, n > 0, err nil. The bytes carry no command (an empty
//     line, *0, *-1): the caller drops n bytes and goes on.
//   - incomplete: no args, n 0, err nil. p remembers how far the parser came;
//     the caller calls again with the same bytes and more, wherever they lie
//     then. No line is searched twice, no payload is read at all.
//   - a ProtocolError: the client is answered "-ERR " and its text, and the
//     connection is closed.
//
// p is at a command boundary after all answers but incomplete. Whatever a
// client announces, scratch grows only with the arguments that have arrived,
// and a complete command allocates nothing once scratch has its size.
//
// As in redis 8.0 a line ends at its CR and the byte behind it is skipped
// unseen, as are the two bytes behind a payload; inline commands end at LF.
func (d *Decoder) Decode(p *Partial, buf []byte) (args [][]byte, n int, err error) {
	if p.seen != 0 || len(buf) < minCommandBytes || buf[0] != '*' || d.Limits.Unauthenticated {
		return d.resume(p, buf)
	}
	// The fast path: a command at a boundary, short lengths, all of it there.
	// It leaves everything else, all errors included, to resume.
	count, pos := int(buf[1])-'0', 4
	if uint(count-1) > 8 || buf[2] != '\r' {
		if count, pos = parseShort(buf, 1); pos == 0 {
			return d.resume(p, buf)
		}
	}
	if count > d.Limits.Args {
		return d.resume(p, buf)
	}
	last := d.args
	args = last[:0]
	bulkBytes := d.Limits.BulkBytes
	for {
		if len(buf)-pos < minArgBytes {
			break
		}
		head := buf[pos : pos+minArgBytes]
		if head[0] != '$' {
			break
		}
		start, size := pos+4, int(head[1])-'0'
		if uint(size) > 9 || head[2] != '\r' {
			if tens := uint(head[2]) - '0'; uint(size-1) <= 8 && tens <= 9 && head[3] == '\r' {
				start, size = pos+5, size*10+int(tens)
			} else if size, start = parseShort(buf, pos+1); start == 0 {
				break
			}
		}
		end := start + size
		if end > len(buf)-2 || size > bulkBytes {
			break
		}
		args = append(args, buf[start:end:end+2])
		pos = end + 2
		if len(args) == count {
			if len(args) < len(last) {
				args = trim(args, last)
			}
			d.args = args
			return args, pos, nil
		}
	}
	p.pos, p.seen, p.count, p.left = pos, pos, count, count-len(args)
	clear(last) // resume forgets args and what they do not overwrite here
	d.args = args
	return d.resume(p, buf)
}

// Release drops the references to the bytes of the last command and what
// scratch is larger than an ordinary command needs. Decode does the same when
// it is called next; Release is for a caller that cannot know when that is and
// wants a large buffer freed now.
func (d *Decoder) Release() {
	d.release()
	d.scratch = nil
}

func (d *Decoder) release() {
	if cap(d.args) > keepArgs {
		d.args = nil
		return
	}
	clear(d.args)
	d.args = d.args[:0]
}

// trim makes scratch forget the arguments of the last command that args does
// not overwrite: each would keep a whole read buffer alive.
func trim(args, last [][]byte) [][]byte {
	if cap(args) > keepArgs && len(args) <= keepArgs {
		return append(make([][]byte, 0, max(fewArgs, len(args))), args...)
	}
	clear(last[len(args):])
	return args
}

// resume is Decode for whatever is not a short complete command.
func (d *Decoder) resume(p *Partial, buf []byte) (args [][]byte, n int, err error) {
	if len(buf) == 0 {
		d.release()
		return nil, 0, nil
	}
	if buf[0] != '*' {
		return d.inline(p, buf)
	}
	n, err = d.advance(p, buf)
	if n == 0 || err != nil {
		d.release()
		if err != nil {
			p.Reset()
		}
		return nil, 0, err
	}
	if p.count == 0 {
		d.release()
	} else {
		args = d.collect(p.count, buf[:n])
	}
	p.Reset()
	return args, n, nil
}

// advance parses on from p as far as buf reaches, checks every number and
// returns the offset behind the command's last byte, or 0 when it is not there
// yet. p.count is 0 then for a command without arguments.
func (d *Decoder) advance(p *Partial, buf []byte) (end int, err error) {
	if p.count == 0 {
		line, err := p.lengthLine(buf, d.Limits.lineBytes(), errMultibulkLine)
		if line == nil {
			return 0, err
		}
		count, ok := parseInteger(line[1:])
		switch {
		case !ok || count > d.Limits.args():
			return 0, errMultibulkLength
		case d.Limits.Unauthenticated && count > UnauthenticatedArgs:
			return 0, errLoginMultibulk
		case count <= 0:
			return len(line) + 2, nil
		}
		p.count, p.left = int(count), int(count)
		p.begin(len(line) + 2)
	}
	for p.left > 0 {
		if !p.inPayload {
			line, err := p.lengthLine(buf, d.Limits.lineBytes(), errBulkLine)
			if line == nil {
				return 0, err
			}
			if len(line) == 0 {
				return 0, errExpectedDollar('\r')
			}
			if line[0] != '$' {
				return 0, errExpectedDollar(line[0])
			}
			size, ok := parseInteger(line[1:])
			switch {
			case !ok || size < 0 || size > d.Limits.bulkBytes():
				return 0, errBulkLength
			case d.Limits.Unauthenticated && size > UnauthenticatedBulkBytes:
				return 0, errLoginBulk
			}
			p.begin(p.pos + len(line) + 2)
			p.size, p.inPayload = int(size), true
		}
		if len(buf)-p.pos-2 < p.size {
			return 0, nil
		}
		p.begin(p.pos + p.size + 2)
		p.inPayload = false
		p.left--
	}
	return p.pos, nil
}

// begin moves to the line or payload that begins at pos.
func (p *Partial) begin(pos int) { p.pos, p.seen = pos, pos }

// lengthLine returns the current line without its end once the byte behind its
// CR is there too, and nil before. It returns tooLong for a line over limit.
func (p *Partial) lengthLine(buf []byte, limit int, tooLong error) ([]byte, error) {
	cr, over := p.lineEnd(buf, '\r', limit)
	if over {
		return nil, tooLong
	}
	if cr < 0 {
		return nil, nil
	}
	if cr+1 >= len(buf) {
		p.seen = cr
		return nil, nil
	}
	return buf[p.pos:cr:cr], nil
}

// collect returns the arguments of a complete command that advance has checked.
// The lengths are read a second time, once per command: remembering where each
// argument of an incomplete command lies would cost a session up to three times
// the bytes it was sent.
func (d *Decoder) collect(count int, command []byte) [][]byte {
	d.release()
	// Sized at once: all these arguments have arrived.
	args := slices.Grow(d.args, count)
	pos := bytes.IndexByte(command, '\r') + 2
	for range count {
		cr := pos + bytes.IndexByte(command[pos:], '\r')
		size, _ := parseInteger(command[pos+1 : cr])
		start := cr + 2
		end := start + int(size)
		args = append(args, command[start:end:end+2])
		pos = end + 2
	}
	d.args = args
	return args
}
