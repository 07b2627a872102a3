package channelstore

import "strings"

// A request is an update that could not be made at once: its goroutine waits
// for the control mutex.
type request[T any] struct {
	// Immutable.
	older *request[T] // in Store.waiting
	kind  Kind
	shard int
	owner T
	names [][]byte           // to subscribe to
	leave []*Subscription[T] // or to remove

	// Guarded by the control mutex.
	joined []*Subscription[T]
	done   bool
	gone   bool // leave names a subscription that was removed before
}

// Subscribe adds a subscription of owner, in shard, to each of names and
// appends them to dst in that order. names must be distinct, and owner must
// not be subscribed to any of them. Their bytes are not kept. When it returns,
// every later Find and Match shows the subscriptions.
//
// Cost per name: O(1) amortised, however many subscriptions and names exist.
// It panics, and changes nothing, when there is no such kind or shard.
func (st *Store[T]) Subscribe(kind Kind, shard int, owner T, names [][]byte, dst []*Subscription[T]) []*Subscription[T] {
	// Checked here, because a request that waits is applied by another goroutine.
	if kind >= kinds || shard < 0 || shard >= st.shards {
		panic("channelstore: no such kind or shard")
	}
	if len(names) == 0 {
		return dst
	}
	if st.mu.TryLock() {
		defer st.finish()
		st.applyWaiting()
		for _, name := range names {
			dst = append(dst, st.join(kind, shard, owner, name))
		}
		return dst
	}
	r := &request[T]{kind: kind, shard: shard, owner: owner, names: names, joined: dst}
	st.wait(r)
	return r.joined
}

// Unsubscribe removes subs. When it returns, no later Find or Match shows
// them; lists that were loaded before still do. Each must have come from
// Subscribe of this store. It panics, once the others are removed, when one
// was removed before.
func (st *Store[T]) Unsubscribe(subs []*Subscription[T]) {
	if len(subs) == 0 {
		return
	}
	var gone bool
	if st.mu.TryLock() {
		gone = st.leaveAll(subs)
	} else {
		r := &request[T]{leave: subs}
		st.wait(r)
		gone = r.gone
	}
	if gone {
		panic("channelstore: a subscription was removed twice")
	}
}

// leaveAll makes the updates that wait and removes subs. It reports whether one
// of them was removed before. The caller holds mu and gives it up.
func (st *Store[T]) leaveAll(subs []*Subscription[T]) (gone bool) {
	defer st.finish()
	st.applyWaiting()
	for _, sub := range subs {
		gone = !st.leave(sub) || gone
	}
	return gone
}

// wait queues r and returns when it is done: by whoever holds the control
// mutex next, or by this goroutine with all others that wait. So updates that
// wait for each other are squashed: a name that many of them touch gets one
// new list.
func (st *Store[T]) wait(r *request[T]) {
	for {
		r.older = st.waiting.Load()
		if st.waiting.CompareAndSwap(r.older, r) {
			break
		}
	}
	st.mu.Lock()
	defer st.finish()
	if !r.done {
		st.applyWaiting()
	}
}

// finish installs what was touched and gives up the control mutex, also when
// the update panics halfway: what it had done by then is consistent.
func (st *Store[T]) finish() {
	defer st.mu.Unlock()
	st.installTouched()
}

// applyWaiting makes the updates that wait, oldest first, without installing
// them; finish must follow. The caller holds mu.
func (st *Store[T]) applyWaiting() {
	if st.waiting.Load() == nil {
		return
	}
	var oldest *request[T]
	for r := st.waiting.Swap(nil); r != nil; {
		older := r.older
		r.older = oldest
		oldest, r = r, older
	}
	for r := oldest; r != nil; r = r.older {
		for _, name := range r.names {
			r.joined = append(r.joined, st.join(r.kind, r.shard, r.owner, name))
		}
		for _, sub := range r.leave {
			r.gone = !st.leave(sub) || r.gone
		}
		r.done = true
	}
}

// join adds one subscription to its name's draft. The caller holds mu.
func (st *Store[T]) join(kind Kind, shard int, owner T, name []byte) *Subscription[T] {
	x := st.index[kind]
	k, t := x.at(view(name))
	e, ok := t.Load(k)
	var sub *Subscription[T]
	if ok {
		sub = &Subscription[T]{}
	} else {
		f := &first[T]{}
		sub = &f.sub
		k.name = strings.Clone(k.name)
		e = &entry[T]{name: k.name, hash: k.hash, kind: kind}
		if kind == Patterns {
			e.pattern = newPattern(e)
		}
		f.list.begin(e, shard, f.tail[:0])
		e.draft = &f.list
		st.touched = append(st.touched, e)
		// Readers may find it at once; until the install it has no list.
		t.Store(k, e)
	}
	sub.Owner, sub.entry, sub.shard = owner, e, int32(shard)
	st.draftOf(e).join(sub)
	st.total[kind].Add(1)
	return sub
}

// A first is the first subscription of a name and the list that shows it, in
// one allocation: most names never have a second one. The entry is not part of
// it, because it may outlive the subscription and would keep the owner alive.
type first[T any] struct {
	sub  Subscription[T]
	list List[T]
	tail [1]*Subscription[T]
}

// leave removes one subscription from its name's draft. It returns false and
// does nothing when that was removed before: its name may have another entry by
// now. The caller holds mu.
func (st *Store[T]) leave(sub *Subscription[T]) bool {
	if sub.position < 0 {
		return false
	}
	st.draftOf(sub.entry).leave(sub)
	st.total[sub.entry.kind].Add(-1)
	return true
}

// draftOf returns the next list of e, which the caller may change until it is
// installed. The caller holds mu.
func (st *Store[T]) draftOf(e *entry[T]) *List[T] {
	if e.draft == nil {
		e.draft, st.spare = st.spare, nil
		if e.draft == nil {
			e.draft = &List[T]{}
		}
		e.draft.copyFrom(e.list.Load(), e)
		st.touched = append(st.touched, e)
	}
	return e.draft
}

// installTouched makes the drafts current, one install per name, and takes
// names without subscriptions out of the index. The caller holds mu.
func (st *Store[T]) installTouched() {
	for i, e := range st.touched {
		st.touched[i] = nil
		before := e.list.Load() != nil
		after := e.draft.total > 0
		// A pattern is findable before its list is there and until after it is
		// empty; Match passes over entries without a list.
		if after && !before {
			st.countName(e, 1)
			if e.pattern != nil {
				st.patterns.add(e.pattern)
			}
		}
		st.installs++
		if after {
			e.list.Install(e.draft)
			e.draft = nil
			continue
		}
		e.list.Install(nil)
		*e.draft = List[T]{}
		st.spare, e.draft = e.draft, nil
		st.index[e.kind].Delete(key{e.hash, e.name})
		if before {
			st.countName(e, -1)
			if e.pattern != nil {
				st.patterns.remove(e.pattern)
			}
		}
	}
	if cap(st.touched) > 4096 {
		st.touched = nil
	}
	st.touched = st.touched[:0]
}

// countName counts a name that came (1) or went (-1).
func (st *Store[T]) countName(e *entry[T], n int64) {
	st.names[e.kind].Add(n)
	if e.kind == Patterns && e.pattern == nil {
		st.plain.Add(n)
	}
}
