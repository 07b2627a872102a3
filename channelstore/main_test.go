package channelstore

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An owner stands for a session. It is large enough that the allocator does
// not put several into one block, so that each can be collected alone.
type owner struct {
	id    int
	shard int
	_     [32]byte
}

type (
	subscription = Subscription[*owner]
	list         = List[*owner]
	store        = Store[*owner]
)

// names returns the arguments as Subscribe takes them.
func names(of ...string) [][]byte {
	out := make([][]byte, len(of))
	for i, name := range of {
		out[i] = []byte(name)
	}
	return out
}

// numbered returns n names of prefix and six digits, from the given number on.
func numbered(prefix string, from, n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = fmt.Appendf(nil, "%s%06d", prefix, from+i)
	}
	return out
}

// crowd subscribes n new owners, dealt to the store's shards in turn, to one
// name.
func crowd(st *store, shards int, kind Kind, name string, n int) []*subscription {
	subs := make([]*subscription, 0, n)
	key := [][]byte{[]byte(name)}
	for i := range n {
		subs = st.Subscribe(kind, i%shards, &owner{id: i, shard: i % shards}, key, subs)
	}
	return subs
}

// members returns a list's subscriptions and fails when the list contradicts
// itself. It is called beside writers, so it reads nothing they guard.
func members(t failer, l *list) []*subscription {
	t.Helper()
	var all []*subscription
	before := -1
	seen := make(map[*subscription]bool, l.Len())
	for i := range l.Parts() {
		p := &l.Parts()[i]
		if p.Shard <= before {
			t.Fatalf("%q: part of shard %d behind that of shard %d", l.Name(), p.Shard, before)
		}
		before = p.Shard
		if l.Part(p.Shard) != p {
			t.Fatalf("%q: Part(%d) is not the part of shard %d", l.Name(), p.Shard, p.Shard)
		}
		n := 0
		for c := range p.Chunks() {
			chunk := p.Chunk(c)
			if len(chunk) == 0 {
				t.Fatalf("%q: shard %d has an empty chunk", l.Name(), p.Shard)
			}
			n += len(chunk)
			for _, sub := range chunk {
				switch {
				case sub == nil:
					t.Fatalf("%q: a nil subscription in shard %d", l.Name(), p.Shard)
				case seen[sub]:
					t.Fatalf("%q: owner %d twice", l.Name(), sub.Owner.id)
				case sub.Name() != l.Name():
					t.Fatalf("%q holds a subscription to %q", l.Name(), sub.Name())
				case sub.Owner.shard != p.Shard:
					t.Fatalf("%q: owner of shard %d in the part of shard %d", l.Name(), sub.Owner.shard, p.Shard)
				}
				seen[sub] = true
				all = append(all, sub)
			}
		}
		if n == 0 || n != p.Len() {
			t.Fatalf("%q: shard %d: Len() = %d, holds %d", l.Name(), p.Shard, p.Len(), n)
		}
	}
	if l.Len() == 0 || l.Len() != len(all) {
		t.Fatalf("%q: Len() = %d, holds %d", l.Name(), l.Len(), len(all))
	}
	return all
}

// A failer is a *testing.T, *testing.B or *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// shows reports whether l, which may be nil, holds sub.
func shows(l *list, sub *subscription) bool {
	if l == nil {
		return false
	}
	p := l.Part(sub.Owner.shard)
	if p == nil {
		return false
	}
	for c := range p.Chunks() {
		for _, s := range p.Chunk(c) {
			if s == sub {
				return true
			}
		}
	}
	return false
}

// An album keeps lists together with what they showed when they were loaded
// (invariant frozen).
type album struct {
	pictures []picture
	known    map[*list]bool
}

type picture struct {
	of    *list
	name  string
	total int
	parts []pictureOfPart
}

type pictureOfPart struct {
	shard  int
	subs   []*subscription
	owners []*owner
}

func takePicture(l *list) picture {
	pic := picture{of: l, name: l.Name(), total: l.Len()}
	for i := range l.Parts() {
		p := &l.Parts()[i]
		part := pictureOfPart{shard: p.Shard}
		for c := range p.Chunks() {
			part.subs = append(part.subs, p.Chunk(c)...)
		}
		for _, sub := range part.subs {
			part.owners = append(part.owners, sub.Owner)
		}
		pic.parts = append(pic.parts, part)
	}
	return pic
}

// add takes a picture of l unless there is one.
func (a *album) add(l *list) {
	if l == nil || a.known[l] {
		return
	}
	if a.known == nil {
		a.known = map[*list]bool{}
	}
	a.known[l] = true
	a.pictures = append(a.pictures, takePicture(l))
}

// check fails when a list does not look as it did.
func (a *album) check(t failer) {
	t.Helper()
	for _, then := range a.pictures {
		now := takePicture(then.of)
		if now.name != then.name || now.total != then.total || len(now.parts) != len(then.parts) {
			t.Fatalf("a list of %q with %d subscriptions in %d parts became %q with %d in %d",
				then.name, then.total, len(then.parts), now.name, now.total, len(now.parts))
		}
		for i, was := range then.parts {
			is := now.parts[i]
			if is.shard != was.shard || len(is.subs) != len(was.subs) {
				t.Fatalf("%q: part of shard %d with %d subscriptions became shard %d with %d",
					then.name, was.shard, len(was.subs), is.shard, len(is.subs))
			}
			for j := range was.subs {
				if is.subs[j] != was.subs[j] || is.owners[j] != was.owners[j] {
					t.Fatalf("%q: shard %d: subscription %d of %d is another one now",
						then.name, was.shard, j, len(was.subs))
				}
			}
		}
	}
}
