// Package rcu provides read-copy-update for Go: readers load an immutable
// snapshot with one atomic load, a writer copies what it changes and installs
// the next snapshot.
//
// It deliberately has no epochs, no deferred frees and no reader registration:
// the garbage collector keeps a snapshot alive for as long as a reader holds
// it. Whoever must know that nobody uses an older snapshot any more (for
// another reason than memory) has to count readers itself.
//
// Any goroutine may Load. Writers are serialised by their owner (invariant
// one-writer), and what was installed is never written again (invariant
// frozen).
package rcu
