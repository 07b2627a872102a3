package shard

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestOutbox_IsAQueueOfBytes drives an outbox with random replies, frames and
// partial writes and compares it with a plain byte queue.
func TestOutbox_IsAQueueOfBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var frames, other slab
		o := &outbox{}
		var want []byte
		next := byte(0)
		fill := func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = next
				next++
			}
			return b
		}
		sizes := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 3*copyBytes), rapid.IntRange(largeBytes, 2*slabBytes))
		blocked := false
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0: // a reply
				b := fill(rapid.IntRange(1, 200).Draw(t, "reply"))
				o.w.B = append(o.w.B, b...)
				want = append(want, b...)
			case 1, 2: // a frame
				b := fill(sizes.Draw(t, "frame"))
				piece := frames.commit(append(frames.room(len(b)), b...))
				o.appendFrame(piece, blocked)
				want = append(want, b...)
			case 3: // a frame for somebody else
				other := fill(rapid.IntRange(1, 30).Draw(t, "other"))
				frames.commit(append(frames.room(len(other)), other...))
			case 4: // a frame of the other protocol
				b := fill(sizes.Draw(t, "frame3"))
				piece := other.commit(append(other.room(len(b)), b...))
				o.appendFrame(piece, blocked)
				want = append(want, b...)
			case 5: // the socket takes some
				if len(want) == 0 {
					o.reset()
					blocked = false
					continue
				}
				o.seal()
				n := rapid.IntRange(1, len(want)).Draw(t, "written")
				var got []byte
				for _, s := range o.segments[o.head:] {
					got = append(got, s...)
				}
				if !bytes.Equal(got[:n], want[:n]) {
					t.Fatalf("the first %d bytes differ", n)
				}
				o.consume(n)
				want = want[n:]
				blocked = len(want) > 0
			}
			if o.pending() != int64(len(want)) {
				t.Fatalf("pending() = %d, want %d", o.pending(), len(want))
			}
		}
		o.seal()
		var got []byte
		for _, s := range o.segments[o.head:] {
			if len(s) == 0 {
				t.Fatal("an empty segment")
			}
			got = append(got, s...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("the queue holds other bytes than were put in")
		}
	})
}

// TestOutbox_BehindPinsBoundedMemory appends one small frame per slab, the
// worst case for references, and checks what is pinned for what is owed.
func TestOutbox_BehindPinsBoundedMemory(t *testing.T) {
	var frames slab
	o := &outbox{}
	o.appendFrame(frames.commit(append(frames.room(100), make([]byte, 100)...)), false)
	o.consume(1) // the socket took a part: the client is behind
	for range 4000 {
		frames.commit(frames.room(slabBytes - 200)[:slabBytes-200])
		o.appendFrame(frames.commit(append(frames.room(100), make([]byte, 100)...)), true)
	}
	o.seal()
	pinned := map[*byte]int{}
	for _, s := range o.segments[o.head:] {
		pinned[&s[:cap(s)][cap(s)-1]] = max(cap(s), pinned[&s[:cap(s)][cap(s)-1]])
	}
	total := 0
	for _, n := range pinned {
		total += n
	}
	total += cap(o.w.B)
	if limit := int(o.pending())*sparseShare + 2*slabBytes; total > limit {
		t.Fatalf("%d bytes are pinned for %d bytes owed; the limit is %d", total, o.pending(), limit)
	}
}

func TestOutbox_ReferencesWhatManyAreBehindOn(t *testing.T) {
	var frames slab
	a, b := &outbox{}, &outbox{}
	for i := range 3000 {
		f := frames.commit(append(frames.room(1000), bytes.Repeat([]byte{byte(i)}, 1000)...))
		a.appendFrame(f, i > 0)
		b.appendFrame(f, i > 0)
	}
	if n := len(a.segments); n > 3000*1000/(slabBytes-1000)+1 {
		t.Errorf("3000 adjacent frames make %d segments", n)
	}
	for i := range a.segments {
		if &a.segments[i][0] != &b.segments[i][0] {
			t.Fatalf("segment %d is not shared", i)
		}
	}
}
