package channelstore

import (
	"sync"
	"sync/atomic"

	"broker/rcu"
)

// Kind is a namespace of names.
type Kind uint8

// The namespaces. They share nothing: a channel and a shard channel of one
// name are two channels.
const (
	Channels Kind = iota
	ShardChannels
	Patterns
	kinds
)

// A Store knows every subscription. Create one with New.
type Store[T any] struct {
	// Immutable. The indexes themselves are read without a lock and written by
	// the holder of mu.
	shards   int
	index    [kinds]*index[T]
	patterns patternIndex[T]

	// Atomic, written by the holder of mu: names with a subscription, and
	// subscriptions, by kind.
	names [kinds]atomic.Int64
	plain atomic.Int64 // names of kind Patterns without wildcard and escape
	total [kinds]atomic.Int64

	// Atomic: requests that wait for the holder of mu, newest first.
	waiting atomic.Pointer[request[T]]

	// mu is the control mutex.
	mu sync.Mutex
	// Guarded by mu.
	touched  []*entry[T] // have a draft; empty between updates
	installs int64       // installs so far, that of no list for an emptied name included
	spare    *List[T]    // a draft that was never installed, cleared; or nil
}

// An entry is a name that has subscriptions, or just had. It is in the index
// from its first subscription to its last, and never comes back: a name that
// is taken again gets a new entry. A reader that still holds the old one sees
// no list there.
type entry[T any] struct {
	// Immutable.
	name    string
	hash    uint64 // of name, in its index
	kind    Kind
	pattern *pattern[T] // nil for channels and plain patterns

	list rcu.Cell[List[T]] // nil before the first install and at the end

	// Guarded by the control mutex: the next list while it is being made.
	draft *List[T]
}

// New returns an empty store for owners in that many shards, numbered from 0.
func New[T any](shards int) *Store[T] {
	if shards < 1 {
		panic("channelstore: no shards")
	}
	st := &Store[T]{shards: shards, patterns: newPatternIndex[T]()}
	for k := range st.index {
		st.index[k] = newIndex[T]()
	}
	return st
}

// Find returns the current list of a channel, shard channel or pattern (by its
// own name), nil when it has no subscription. It takes no lock and allocates
// nothing. name is not kept.
func (st *Store[T]) Find(kind Kind, name []byte) *List[T] {
	if st.names[kind].Load() == 0 {
		return nil
	}
	e, ok := st.index[kind].Load(view(name))
	if !ok {
		return nil
	}
	return e.list.Load()
}

// Match appends to dst the list of every pattern that matches channel and has
// a subscription, in no particular order. It takes no lock and allocates only
// to grow dst. channel is not kept.
func (st *Store[T]) Match(channel []byte, dst []*List[T]) []*List[T] {
	name := view(channel)
	if st.plain.Load() > 0 {
		if e, ok := st.index[Patterns].Load(name); ok && e.pattern == nil {
			if l := e.list.Load(); l != nil {
				dst = append(dst, l)
			}
		}
	}
	return st.patterns.match(name, dst)
}

// Count returns the number of names that have a subscription.
func (st *Store[T]) Count(kind Kind) int { return int(st.names[kind].Load()) }

// Subscriptions returns the number of subscriptions.
func (st *Store[T]) Subscriptions(kind Kind) int { return int(st.total[kind].Load()) }

// Each calls yield with every name that has a subscription and their number,
// until yield returns false. Names that come or go meanwhile may be missed or
// not. yield must not call Subscribe or Unsubscribe.
func (st *Store[T]) Each(kind Kind, yield func(name string, subscribers int) bool) {
	st.index[kind].Range(func(name string, e *entry[T]) bool {
		if l := e.list.Load(); l != nil {
			return yield(name, l.total)
		}
		return true
	})
}
