package shard

import "sync/atomic"

// An inbox carries posts from any goroutine to one loop.
//
// push never blocks and performs no I/O; waking the loop is the caller's
// business, after it has let go of its locks. Only the loop takes (invariant
// one-loop). Posts of one goroutine are taken in the order it pushed them
// (invariant fifo), and posts that one goroutine pushed to several inboxes
// under the order lock stand in the same order in all of them (invariant
// total-order).
//
// It is a lock-free stack that is taken whole and reversed: the multi-producer
// side is one compare-and-swap, the consumer side one swap for everything
// that waits. A mutex and a slice would do the same work but would be a
// second lock held under the order lock (invariant one-lock).
type inbox struct {
	// Atomic. Newest post first; a push publishes everything written before it.
	head atomic.Pointer[post]
}

// A post is one item of an inbox: a batch of messages, or something to run on
// the loop. The pusher gives it up; the loop that took it owns it.
type post struct {
	next  *post
	batch *batch
	run   func(*Loop)
}

func (q *inbox) push(p *post) {
	for {
		old := q.head.Load()
		p.next = old
		if q.head.CompareAndSwap(old, p) {
			return
		}
	}
}

func (q *inbox) empty() bool { return q.head.Load() == nil }

// take returns all posts, oldest first, linked by next.
func (q *inbox) take() *post {
	var first *post
	for p := q.head.Swap(nil); p != nil; {
		next := p.next
		p.next = first
		first, p = p, next
	}
	return first
}
