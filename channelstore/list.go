package channelstore

// A Subscription links one owner to one channel, shard channel or pattern.
type Subscription[T any] struct {
	// Immutable.
	Owner T
	entry *entry[T]
	shard int32

	// Guarded by the control mutex: its position in its part of the newest list,
	// negative once it is removed.
	position int32
}

// Kind returns the namespace of the subscription's name.
func (s *Subscription[T]) Kind() Kind { return s.entry.kind }

// Name returns the channel, shard channel or pattern.
func (s *Subscription[T]) Name() string { return s.entry.name }

// A List is an immutable snapshot of one name's subscriptions, grouped by
// shard. Their order within a shard means nothing.
type List[T any] struct {
	entry *entry[T]
	total int
	parts []Part[T]  // ascending by shard, none empty
	one   [1]Part[T] // room for parts while one shard has them all
}

// A Part is the subscriptions of one shard.
type Part[T any] struct {
	Shard int
	subs  vector[*Subscription[T]]
}

// Name returns the channel, shard channel or pattern.
func (l *List[T]) Name() string { return l.entry.name }

// Len returns the number of subscriptions.
func (l *List[T]) Len() int { return l.total }

// Parts returns the parts that hold a subscription, ascending by shard. The
// slice is part of the snapshot: read only.
func (l *List[T]) Parts() []Part[T] { return l.parts }

// Part returns the part of one shard, nil when that has no subscription.
func (l *List[T]) Part(shard int) *Part[T] {
	for i := range l.parts {
		if l.parts[i].Shard == shard {
			return &l.parts[i]
		}
	}
	return nil
}

// Len returns the number of subscriptions in the part.
func (p *Part[T]) Len() int { return p.subs.len() }

// Chunks returns the number of slices that hold the part's subscriptions.
func (p *Part[T]) Chunks() int { return p.subs.chunks() }

// Chunk returns slice i of them. It is part of the snapshot: read only.
func (p *Part[T]) Chunk(i int) []*Subscription[T] { return p.subs.chunk(i) }

// copyFrom makes n, the zero List, a copy of e's list, nil for none, that the
// holder of the control mutex may change until it is installed.
func (n *List[T]) copyFrom(l *List[T], e *entry[T]) {
	n.entry = e
	n.parts = n.one[:0]
	if l != nil {
		n.total = l.total
		n.parts = append(n.parts, l.parts...)
	}
}

// begin makes l, the zero List, the empty first list of e, with room for one
// shard's subscriptions in tail.
func (l *List[T]) begin(e *entry[T], shard int, tail []*Subscription[T]) {
	l.entry = e
	l.parts = append(l.one[:0], Part[T]{Shard: shard, subs: vector[*Subscription[T]]{tail: tail}})
}

// join adds sub to a list that is not installed yet.
func (l *List[T]) join(sub *Subscription[T]) {
	i := 0
	for i < len(l.parts) && l.parts[i].Shard < int(sub.shard) {
		i++
	}
	if i == len(l.parts) || l.parts[i].Shard != int(sub.shard) {
		l.parts = append(l.parts, Part[T]{})
		copy(l.parts[i+1:], l.parts[i:])
		l.parts[i] = Part[T]{Shard: int(sub.shard)}
	}
	p := &l.parts[i]
	sub.position = int32(p.subs.len())
	p.subs = p.subs.push(sub)
	l.total++
}

// leave removes sub from a list that is not installed yet.
func (l *List[T]) leave(sub *Subscription[T]) {
	i := 0
	for l.parts[i].Shard != int(sub.shard) {
		i++
	}
	p := &l.parts[i]
	subs, last, moved := p.subs.remove(int(sub.position))
	if moved {
		last.position = sub.position
	}
	sub.position = -1
	p.subs = subs
	l.total--
	if subs.len() == 0 {
		l.parts = append(l.parts[:i], l.parts[i+1:]...)
		clear(l.parts[len(l.parts):cap(l.parts)])
	}
}
