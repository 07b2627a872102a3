package resp

import (
	"bytes"
	"math"
)

// A Partial is the progress made inside one incomplete command. The zero value
// is a command boundary. It holds offsets from the command's first byte and no
// slice, so the bytes may be moved or grown between two calls of Decode; it
// may be copied with them. Its size does not depend on the command.
type Partial struct {
	pos   int // where the current line or payload begins; all before is parsed
	seen  int // the current line has no end before here; 0 only at a boundary
	count int // arguments announced; 0 while the first line is incomplete
	left  int // arguments not yet complete
	size  int // length of the current payload when inPayload
	// inPayload: pos is the first byte of a payload, not of a length line.
	inPayload bool
	// stuck: the current line holds a NUL, so that no end of it is found.
	stuck bool
}

// Empty reports whether p is at a command boundary.
func (p *Partial) Empty() bool { return p.seen == 0 }

// Reset returns p to a command boundary.
func (p *Partial) Reset() { *p = Partial{} }

// minArgBytes is the length of the shortest argument on the wire: "$0", CRLF
// and the CRLF of the empty payload.
const minArgBytes = 6

// Missing returns how many bytes beyond the first have are certainly needed
// before the command can be complete, at least 1. It counts what the client
// has announced, so it may size a read but never an allocation: it reaches
// many GiB after a line of 13 bytes.
func (p *Partial) Missing(have int) int {
	need := int64(p.pos) - int64(have) + int64(p.left)*minArgBytes
	if p.inPayload {
		need += int64(p.size) + 2 - minArgBytes
	}
	return int(min(max(need, 1), math.MaxInt))
}

// lineEnd looks for the byte end in the current line, beginning where the last
// search stopped. It returns its offset in buf, or -1; tooLong says that the
// line has more than limit bytes before any end.
//
// Redis searches with strchr, which also stops at a NUL: a line with a NUL in
// it has no end, whatever follows, until it is too long. Only limit+1 bytes are
// ever looked at, so the answer does not depend on how much has arrived.
func (p *Partial) lineEnd(buf []byte, end byte, limit int) (at int, tooLong bool) {
	line := buf[p.pos:]
	window := line[:min(len(line), limit+1)]
	if !p.stuck {
		from := min(p.seen-p.pos, len(window))
		unseen := window[max(from, 0):]
		i := bytes.IndexByte(unseen, end)
		if i >= 0 {
			unseen = unseen[:i]
		}
		if p.stuck = bytes.IndexByte(unseen, 0) >= 0; !p.stuck && i >= 0 {
			return p.pos + max(from, 0) + i, false
		}
	}
	p.seen = p.pos + len(window)
	return -1, len(line) > limit
}
