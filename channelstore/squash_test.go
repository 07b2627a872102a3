package channelstore

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// queued returns how many requests wait. The caller holds the control mutex.
func queued(st *store) int {
	n := 0
	for r := st.waiting.Load(); r != nil; r = r.older {
		n++
	}
	return n
}

// A round is updates that are made to wait for the control mutex, which the
// test holds meanwhile.
type round struct {
	t        *testing.T
	st       *store
	updates  int
	returned atomic.Int32
	running  sync.WaitGroup
}

func newRound(t *testing.T, st *store) *round {
	st.mu.Lock()
	return &round{t: t, st: st}
}

// start runs an update on a goroutine of its own and returns when it waits, or
// when an update has returned although the mutex is held. So updates wait in the
// order they were started.
func (r *round) start(update func()) {
	r.updates++
	r.running.Go(func() {
		update()
		r.returned.Add(1)
	})
	for queued(r.st) < r.updates && r.returned.Load() == 0 {
		runtime.Gosched()
	}
}

func (r *round) join(o *owner, kind Kind, subs *[]*subscription, of ...string) {
	r.start(func() { *subs = r.st.Subscribe(kind, o.shard, o, names(of...), *subs) })
}

func (r *round) leave(subs ...*subscription) {
	r.start(func() { r.st.Unsubscribe(subs) })
}

// end lets the updates go and returns the number of lists they installed.
func (r *round) end() int64 {
	r.t.Helper()
	before := r.st.installs
	if n := r.returned.Load(); n > 0 {
		r.t.Errorf("%d updates returned while the control mutex was held", n)
	}
	r.st.mu.Unlock()
	r.running.Wait()
	return r.st.installs - before
}

func TestSubscribe_SquashesThoseThatWait(t *testing.T) {
	const n = 200
	for _, kind := range []Kind{Channels, ShardChannels, Patterns} {
		for _, there := range []int{0, 1, chunkSize + 1} {
			t.Run(fmt.Sprintf("kind=%d/there=%d", kind, there), func(t *testing.T) {
				st := New[*owner](3)
				crowd(st, 3, kind, "hot", there)
				r := newRound(t, st)
				subs := make([][]*subscription, n)
				for i := range n {
					r.join(&owner{id: there + i, shard: i % 3}, kind, &subs[i], "hot")
				}
				if got := r.end(); got != 1 {
					t.Errorf("%d subscribes that waited installed %d lists, want 1", n, got)
				}
				l := st.Find(kind, []byte("hot"))
				if got := len(members(t, l)); got != there+n {
					t.Errorf("%d are subscribed, want %d", got, there+n)
				}
				for i := range subs {
					if len(subs[i]) != 1 || subs[i][0].Owner.id != there+i || !shows(l, subs[i][0]) {
						t.Fatalf("subscribe %d returned %d subscriptions, or not its own", i, len(subs[i]))
					}
				}
				checkIndex(t, st)
			})
		}
	}
}

func TestUpdates_SquashesJoinsAndLeaves(t *testing.T) {
	for _, kind := range []Kind{Channels, ShardChannels, Patterns} {
		t.Run(fmt.Sprintf("kind=%d", kind), func(t *testing.T) {
			st := New[*owner](3)
			stays := crowd(st, 3, kind, "mixed", 5)
			emptied := crowd(st, 3, kind, "emptied", 2)
			retaken := crowd(st, 3, kind, "retaken", 2)
			entry := retaken[0].entry
			var joined, both, again, fresh []*subscription

			r := newRound(t, st)
			r.leave(stays[1], emptied[0], retaken[0])
			r.join(&owner{id: 10, shard: 2}, kind, &joined, "mixed")
			r.leave(retaken[1]) // nobody is left
			r.leave(emptied[1])
			r.join(&owner{id: 11, shard: 0}, kind, &again, "retaken")
			r.join(&owner{id: 12, shard: 1}, kind, &both, "new", "mixed")
			r.leave(stays[4])
			r.join(&owner{id: 13, shard: 1}, kind, &fresh, "new")
			if got := r.end(); got != 4 {
				t.Errorf("updates of 4 names installed %d lists", got)
			}

			for name, want := range map[string][]*subscription{
				"mixed":   {stays[0], stays[2], stays[3], joined[0], both[1]},
				"retaken": {again[0]},
				"new":     {both[0], fresh[0]},
			} {
				l := st.Find(kind, []byte(name))
				if l == nil {
					t.Fatalf("%q has no list", name)
				}
				if got := len(members(t, l)); got != len(want) {
					t.Errorf("%q has %d subscriptions, want %d", name, got, len(want))
				}
				for _, sub := range want {
					if !shows(l, sub) {
						t.Errorf("%q does not show owner %d", name, sub.Owner.id)
					}
				}
				if kind == Patterns && len(st.Match([]byte(name), nil)) != 1 {
					t.Errorf("pattern %q is not found by matching", name)
				}
			}
			if st.Find(kind, []byte("emptied")) != nil {
				t.Error("a name without subscriptions is found")
			}
			if again[0].entry != entry {
				t.Error("a name that was never empty between two updates got a new entry")
			}
			if st.Count(kind) != 3 || st.Subscriptions(kind) != 8 {
				t.Errorf("%d names with %d subscriptions, want 3 with 8", st.Count(kind), st.Subscriptions(kind))
			}
			checkIndex(t, st)

			st.Unsubscribe(append(again, both...))
			st.Unsubscribe(append(fresh, joined...))
			st.Unsubscribe([]*subscription{stays[0], stays[2], stays[3]})
			if st.Count(kind) != 0 || st.Subscriptions(kind) != 0 {
				t.Errorf("%d names with %d subscriptions are left", st.Count(kind), st.Subscriptions(kind))
			}
			checkIndex(t, st)
		})
	}
}

// Whoever gets the control mutex without waiting applies what waits as well.
func TestUpdates_TakeAlongThoseThatWait(t *testing.T) {
	st := New[*owner](1)
	left := crowd(st, 1, Channels, "hot", 2)
	for _, update := range map[string]func(){
		"Subscribe":   func() { st.Subscribe(Channels, 0, &owner{}, names("hot"), nil) },
		"Unsubscribe": func() { st.Unsubscribe(left[:1]); left = left[1:] },
	} {
		r := &request[*owner]{kind: Channels, owner: &owner{}, names: names("hot")}
		st.waiting.Store(r)
		before := st.installs
		update()
		if !r.done || len(r.joined) != 1 || !shows(st.Find(Channels, []byte("hot")), r.joined[0]) {
			t.Error("a request that waited was not applied")
		}
		if st.installs != before+1 {
			t.Errorf("two updates installed %d lists", st.installs-before)
		}
	}
}
