package rcu

import "sync/atomic"

// A Cell holds the current snapshot of something that is read often and
// replaced seldom. The zero Cell holds nil.
//
// Load may be called by any goroutine at any time; it costs one atomic load.
// Install may be called by one goroutine at a time, in practice the holder of
// the mutex that guards the writers (invariant one-writer), and what it
// installs is never written again (invariant frozen).
//
// Install orders: everything the writer did before Install is visible to a
// goroutine whose Load returns the snapshot. Go's atomics are sequentially
// consistent, so Install also orders against other atomics: if a reader's
// store to a flag precedes its Load of an old snapshot, a writer that installed
// the next one and then reads the flag sees it.
//
// There is no grace period to wait for before an old snapshot's memory is
// freed: a reader that still holds it keeps it alive, and the garbage
// collector ends it with the last one. (McKenney, "Is Parallel Programming
// Hard", chapter 9, calls this publish-subscribe with automatic reclamation.)
type Cell[T any] struct {
	// Atomic. The current snapshot.
	p atomic.Pointer[T]
}

// Load returns the current snapshot, nil before the first Install. The caller
// must not write to anything reachable from it.
func (c *Cell[T]) Load() *T { return c.p.Load() }

// Install makes next the current snapshot. The caller gives next up: nothing
// reachable from it may be written afterwards.
func (c *Cell[T]) Install(next *T) { c.p.Store(next) }
