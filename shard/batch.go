package shard

import (
	"sync"
	"sync/atomic"

	"broker/channelstore"
	"broker/resp"
)

// A batch is what one loop published in one turn: runs of frames, and for
// every shard the runs that have a receiver there.
//
// Until it is handed over the publishing loop owns it. Afterwards it is
// read-only and shared by the receiving loops; the last one to release it
// puts it back into the pool. Frames are encoded once, as RESP2; the first
// receiver that speaks RESP3 makes the RESP3 form of the whole batch once
// (invariant shared-bytes).
type batch struct {
	// Owned by the publishing loop until hand-over, read-only afterwards.
	runs    []run
	starts  []uint32  // where each frame of a run begins, relative to the run
	targets [][]int32 // by shard: indexes into runs
	posts   []post    // by shard: the inbox posts of this batch

	refs  atomic.Int32 // receiving loops that have not released it yet
	resp3 sync.Once    // guards the making of every run's head3
}

// A run is one or more frames for one list that lie side by side, in the
// order of publication. A large message is a run of its own: head is the
// frame up to its payload, body the payload and its end.
type run struct {
	list  *channelstore.List[*Session]
	head  []byte // RESP2 bytes
	head3 []byte // RESP3 bytes, empty until made
	body  []byte // shared by both protocols; nil for small messages
	first int32  // index into batch.starts
	n     int32  // frames
	plain bool   // no pattern stands between its frames: may be extended
}

var batchPool = sync.Pool{New: func() any { return new(batch) }}

func newBatch(shards int) *batch {
	b := batchPool.Get().(*batch)
	if len(b.targets) < shards {
		b.targets = make([][]int32, shards)
		b.posts = make([]post, shards)
	}
	return b
}

// release gives up one reference; the last one recycles the batch. Pointers
// are cleared so that the pool pins neither lists nor frames.
func (b *batch) release() {
	if b.refs.Add(-1) > 0 {
		return
	}
	clear(b.runs)
	b.runs = b.runs[:0]
	b.starts = b.starts[:0]
	for i := range b.targets {
		b.targets[i] = b.targets[i][:0]
		b.posts[i] = post{}
	}
	b.resp3 = sync.Once{}
	if cap(b.runs) > 4096 || cap(b.starts) > 16384 {
		return
	}
	batchPool.Put(b)
}

// add appends one encoded frame (head, and body for a large one) for list.
// plain says that the next frame of the same list may join this run.
func (b *batch) add(list *channelstore.List[*Session], head, body []byte, plain bool) {
	if plain && body == nil && len(b.runs) > 0 {
		last := &b.runs[len(b.runs)-1]
		if last.list == list && last.plain && adjacent(last.head, head) {
			b.starts = append(b.starts, uint32(len(last.head)))
			last.head = last.head[:len(last.head)+len(head)]
			last.n++
			return
		}
	}
	i := int32(len(b.runs))
	b.runs = append(b.runs, run{
		list:  list,
		head:  head,
		body:  body,
		first: int32(len(b.starts)),
		n:     1,
		plain: plain && body == nil,
	})
	b.starts = append(b.starts, 0)
	for _, part := range list.Parts() {
		b.targets[part.Shard] = append(b.targets[part.Shard], i)
	}
}

// makeRESP3 encodes every run for RESP3 into a slab of l, the loop that asks.
func (b *batch) makeRESP3(l *Loop) {
	b.resp3.Do(func() {
		for i := range b.runs {
			r := &b.runs[i]
			head3 := append(l.slab3.room(len(r.head)), r.head...)
			resp.ToRESP3(head3, b.starts[r.first:r.first+r.n])
			r.head3 = l.slab3.commit(head3)
		}
	})
}
