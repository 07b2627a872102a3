package shard

// slabBytes is the size of a slab. Larger slabs mean fewer allocations and
// longer runs that can be written by reference; smaller ones mean that a
// subscriber who is behind by one small message pins less.
const slabBytes = 64 << 10

// largeBytes is the payload size from which a message is not encoded into a
// slab: its payload gets an allocation of its own that every receiver,
// protocol and pattern shares.
const largeBytes = slabBytes / 4

// A slab hands out consecutive pieces of large allocations for frames.
//
// Only its owner appends; pieces that were handed out are never written again
// (invariant frozen), so that any goroutine may read them. Memory returns
// through the garbage collector when the last outbox lets go: no reference
// counts. One 64 KiB allocation carries some 600 frames of 100 bytes.
type slab struct {
	free []byte // len: used, cap: slabBytes
}

// room returns a slice with no length and at least n bytes of capacity. The
// caller appends to it and gives the result to commit.
func (a *slab) room(n int) []byte {
	if cap(a.free)-len(a.free) < n {
		a.free = make([]byte, 0, max(slabBytes, n))
	}
	return a.free[len(a.free):]
}

// commit makes what was appended to the result of room part of the slab and
// returns it. Pieces committed one after the other lie side by side, which
// adjacent tells.
func (a *slab) commit(piece []byte) []byte {
	a.free = a.free[:len(a.free)+len(piece)]
	return piece
}

// adjacent reports whether b begins in memory where a ends, within one
// allocation, so that both are a[:len(a)+len(b)].
func adjacent(a, b []byte) bool {
	return len(b) > 0 && cap(a)-len(a) >= len(b) && &a[:len(a)+1][len(a)] == &b[0]
}
