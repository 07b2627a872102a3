package channelstore

// chunkSize is the length of a full chunk. A removal copies one chunk or two and
// one pointer per chunk. One leave and one join of a channel with 5,000 / 100,000
// subscribers in two shards (BenchmarkChurn) cost 1.0 / 6.4 us with chunks of 64,
// 1.5 / 5.5 us with 128 and 2.4 / 6.1 us with 256; the longest hold of the control
// mutex decides.
const chunkSize = 128

// A vector is a persistent sequence: push and remove return the next version
// and leave every earlier one as it was, sharing all chunks that do not change.
//
// A push usually writes one slot of an array that earlier versions refer to.
// That keeps them as they were, because the slot lies behind the length of
// every version that shares the array:
//
//   - History is linear: the one writer derives each version from the newest,
//     so a slot is written by one push.
//   - A removal copies whatever it makes shorter. So a push never writes a slot
//     which an older, longer version shows, and no array keeps an element alive
//     that the newest version has no more.
//
// The zero value is the empty vector.
type vector[E any] struct {
	full []*[chunkSize]E // the chunks before the tail
	tail []E             // the last elements; empty only in an empty vector
}

func (v *vector[E]) len() int { return len(v.full)*chunkSize + len(v.tail) }

// chunks returns the number of slices that hold the elements, in order.
func (v *vector[E]) chunks() int {
	if len(v.tail) == 0 {
		return 0
	}
	return len(v.full) + 1
}

func (v *vector[E]) chunk(i int) []E {
	if i < len(v.full) {
		return v.full[i][:]
	}
	return v.tail
}

// push appends e.
func (v vector[E]) push(e E) vector[E] {
	if len(v.tail) == chunkSize {
		v.full = append(v.full, (*[chunkSize]E)(v.tail))
		v.tail = nil
	}
	if len(v.tail) == cap(v.tail) {
		// Small lists stay small, large ones grow by whole chunks.
		size := min(max(2*len(v.tail), 1), chunkSize)
		if len(v.full) > 0 {
			size = chunkSize
		}
		grown := make([]E, len(v.tail), size)
		copy(grown, v.tail)
		v.tail = grown
	}
	v.tail = append(v.tail, e)
	return v
}

// remove deletes the element at position i by moving the last element there,
// which it returns; moved is false when the last element itself is deleted.
func (v vector[E]) remove(i int) (next vector[E], last E, moved bool) {
	end := len(v.tail) - 1
	last = v.tail[end]
	c, slot := i/chunkSize, i%chunkSize
	inTail := c == len(v.full)
	if !inTail || end == 0 {
		v.full = append(make([]*[chunkSize]E, 0, len(v.full)), v.full...)
	}
	if !inTail {
		chunk := *v.full[c]
		chunk[slot] = last
		v.full[c] = &chunk
	}
	moved = !inTail || slot < end
	if end > 0 {
		tail := make([]E, end, v.tailSize(end))
		copy(tail, v.tail)
		if inTail && moved {
			tail[slot] = last
		}
		v.tail = tail
		return v, last, moved
	}
	n := len(v.full) - 1
	if n < 0 {
		return vector[E]{}, last, moved
	}
	v.tail = v.full[n][:]
	v.full[n] = nil
	v.full = v.full[:n]
	return v, last, moved
}

// tailSize returns the capacity for a tail that shrank to n elements: what it
// had, so that the next push need not copy, unless most of it would be unused.
func (v *vector[E]) tailSize(n int) int {
	size := cap(v.tail)
	if len(v.full) == 0 && n <= size/4 {
		size /= 2
	}
	return size
}
