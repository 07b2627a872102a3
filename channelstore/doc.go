// Package channelstore knows which subscriptions exist: one centralised store
// of channels, shard channels and patterns that every event loop reads without
// a lock.
//
// Each name has an immutable List of its subscriptions in an rcu.Cell. PUBLISH
// looks the name up, loads the list and walks it; a writer makes the next list
// and installs it. Writers are serialised by one control mutex (invariant
// one-writer). Nothing reachable from an installed list is written again
// (invariant frozen), but for a subscription's position in the newest list,
// which only writers look at.
//
// The package is generic over the owner of a subscription and knows nothing of
// sockets, sessions or the wire. It does not check that an owner subscribes to
// a name only once: the owner does.
//
// Find, Match, Each, Count and Subscriptions may be called by any goroutine and
// never wait. Subscribe and Unsubscribe may be called by any goroutine and wait
// for the control mutex, which is never held across anything slow.
package channelstore
