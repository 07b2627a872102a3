package shard

import "broker/resp"

const (
	// copyBytes is the length up to which a frame is copied behind what the
	// outbox already holds; longer ones are referenced. A referenced frame
	// costs an iovec, a copied one its bytes, in a buffer that each of many
	// receivers must then have: BenchmarkPublish/subs=1000/payload=32B/shards=2
	// takes 1.6 µs at 512 and 12 µs at 2048.
	copyBytes = 512

	// chunkBytes is the size at which a session's copy buffer is closed and a
	// new one begun, so that a long queue is freed from its front.
	chunkBytes = 64 << 10

	// pooledBytes is the largest copy buffer that goes back to the loop's pool.
	pooledBytes = 16 << 10

	// firstBytes is the size of a new copy buffer.
	firstBytes = 512

	// maxPooledOutboxes bounds what a loop keeps for the next turn.
	maxPooledOutboxes = 1024
)

// An outbox is what a session still has to send: references to frames that
// are shared with other sessions, and bytes of its own. A session without
// anything to send has none; outboxes and their buffers are borrowed from the
// loop for a turn, or for as long as the client does not keep up.
//
// Owned by the loop (invariant one-loop).
type outbox struct {
	// segments are to be written in order, before the tail. The first begins
	// where the last write ended.
	segments [][]byte
	head     int   // segments[:head] are written and nil
	bytes    int64 // in segments[head:]

	// w.B is the copy buffer. w.B[mark:] is the tail: not yet in segments.
	w    resp.Writer
	mark int

	// For a client that is behind; see appendBehind.
	slabOwed int // bytes referenced in the slab of the newest segment
	toCopy   int // bytes to copy before references are tried again
}

// pending returns the number of bytes that are owed, shared or not.
func (o *outbox) pending() int64 { return o.bytes + int64(len(o.w.B)-o.mark) }

// seal makes the tail a segment.
func (o *outbox) seal() {
	if len(o.w.B) > o.mark {
		tail := o.w.B[o.mark:len(o.w.B):len(o.w.B)]
		o.segments = append(o.segments, tail)
		o.bytes += int64(len(tail))
		o.mark = len(o.w.B)
	}
}

// cut closes a copy buffer that has grown large, so that what was written of it
// can be freed.
func (o *outbox) cut() {
	if len(o.w.B) >= chunkBytes {
		o.seal()
		o.w.B, o.mark = nil, 0
	}
}

// copyIn appends b to the copy buffer.
func (o *outbox) copyIn(b []byte) {
	if len(o.w.B)+len(b) > cap(o.w.B) && cap(o.w.B) >= chunkBytes {
		o.seal()
		o.w.B = make([]byte, 0, chunkBytes)
		o.mark = 0
	}
	o.w.B = append(o.w.B, b...)
}

// reference appends b, which nobody will ever write again, without a copy.
func (o *outbox) reference(b []byte) {
	o.seal()
	o.bytes += int64(len(b))
	if n := len(o.segments); n > o.head {
		if last := o.segments[n-1]; adjacent(last, b) {
			o.segments[n-1] = last[:len(last)+len(b)]
			return
		}
	}
	o.segments = append(o.segments, b)
}

// sparseShare is the least share, one in n, of a slab's bytes that a session
// which is behind must be owed for references to go on. Below it the session
// copies for the length of a slab. So a session pins at most sparseShare
// bytes for each byte it is owed (and is charged for), plus a slab.
const sparseShare = 8

// appendFrame appends one shared frame, or a run of them. blocked says that
// the client is behind, so that b will stay for a while.
func (o *outbox) appendFrame(b []byte, blocked bool) {
	empty := o.head == len(o.segments) && len(o.w.B) == o.mark
	switch {
	case empty && !blocked:
		// The common case of one frame per turn: no buffer at all.
		o.reference(b)
	case blocked:
		o.appendBehind(b)
	case len(b) > copyBytes || o.extends(b):
		o.reference(b)
	default:
		o.foldFirst()
		o.copyIn(b)
	}
}

// extends reports whether b continues the newest segment and nothing is in
// between.
func (o *outbox) extends(b []byte) bool {
	n := len(o.segments)
	return n > o.head && len(o.w.B) == o.mark && adjacent(o.segments[n-1], b)
}

// foldFirst copies a lone small reference, so that many small frames leave in
// one piece.
func (o *outbox) foldFirst() {
	if len(o.segments)-o.head != 1 || len(o.w.B) != o.mark || o.bytes > copyBytes {
		return
	}
	b := o.segments[o.head]
	o.segments[o.head] = nil
	o.segments = o.segments[:o.head]
	o.bytes = 0
	o.copyIn(b)
}

// appendBehind appends a frame for a client that is behind: by reference, so
// that a thousand such clients hold one copy, unless the client is owed so
// little of each slab that references pin far more than they say.
func (o *outbox) appendBehind(b []byte) {
	if o.toCopy > 0 && len(b) < largeBytes {
		o.toCopy -= len(b)
		o.copyIn(b)
		return
	}
	if !o.extends(b) && len(b) < largeBytes {
		n := len(o.segments)
		sameSlab := n > o.head && sameEnd(o.segments[n-1], b)
		if !sameSlab {
			if o.slabOwed > 0 && o.slabOwed < slabBytes/sparseShare {
				o.slabOwed = 0
				o.toCopy = slabBytes
				o.copyIn(b)
				return
			}
			o.slabOwed = 0
		}
	}
	o.slabOwed += len(b)
	o.reference(b)
}

// sameEnd reports whether a and b are cut from the same allocation, which
// both reach to the end of.
func sameEnd(a, b []byte) bool {
	return cap(a) > 0 && cap(b) > 0 && &a[:cap(a)][cap(a)-1] == &b[:cap(b)][cap(b)-1]
}

// takeOver appends everything that h holds, which is h's no more.
func (o *outbox) takeOver(h *outbox) {
	h.seal()
	h.w.B, h.mark = nil, 0
	o.seal()
	o.segments = append(o.segments, h.segments[h.head:]...)
	o.bytes += h.bytes
	clear(h.segments)
	h.segments, h.head, h.bytes = h.segments[:0], 0, 0
}

// consume drops the first n bytes, which were written.
func (o *outbox) consume(n int) {
	o.seal()
	o.bytes -= int64(n)
	for n > 0 {
		first := o.segments[o.head]
		if n < len(first) {
			o.segments[o.head] = first[n:]
			break
		}
		n -= len(first)
		o.segments[o.head] = nil
		o.head++
	}
	if o.head > 64 && o.head*2 > len(o.segments) {
		kept := copy(o.segments, o.segments[o.head:])
		clear(o.segments[kept:])
		o.segments = o.segments[:kept]
		o.head = 0
	}
}

// reset empties the outbox for another session. Large buffers are left to the
// collector.
func (o *outbox) reset() {
	clear(o.segments)
	if cap(o.segments) > 256 {
		o.segments = nil
	}
	b := o.w.B[:0]
	if cap(b) > pooledBytes {
		b = nil
	}
	*o = outbox{segments: o.segments[:0], w: resp.Writer{B: b}}
}

// borrow returns an empty outbox from the loop's pool.
func (l *Loop) borrowOutbox() *outbox {
	if n := len(l.outboxes); n > 0 {
		o := l.outboxes[n-1]
		l.outboxes[n-1] = nil
		l.outboxes = l.outboxes[:n-1]
		return o
	}
	return &outbox{}
}

func (l *Loop) returnOutbox(o *outbox) {
	o.reset()
	if len(l.outboxes) < maxPooledOutboxes {
		l.outboxes = append(l.outboxes, o)
	}
}
