package channelstore

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

// onGoroutine lets a goroutine fail its test.
type onGoroutine struct{ *testing.T }

func (t onGoroutine) Fatalf(format string, args ...any) {
	t.Helper()
	t.Errorf(format, args...)
	runtime.Goexit()
}

// A reader sees each name as of some moment, complete; a writer sees its own
// updates at once. Many names are shared, so writers wait for one another and
// lists are emptied and taken again all the time.
func TestStore_IsConsistentBesideWriters(t *testing.T) {
	const (
		shards  = 3
		writers = 6
		readers = 2
	)
	rounds := 1500
	if raceEnabled {
		rounds = 300
	}
	channels := names("a", "ab", "abc", "b", "xyz", "crowded")
	patterns := names("a*", "*b", "*", "a?c", "[ax]*", "xyz")
	st := New[*owner](shards)
	// Long enough that removals copy chunks.
	permanent := crowd(st, shards, Channels, "crowded", shards*(chunkSize+10))
	permanent = append(permanent, crowd(st, shards, Patterns, "crow*", shards)...)

	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	albums := make([]album, readers)
	for r := range readers {
		reading.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(r)))
			var matches []*list
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				lists := []*list{
					st.Find(Channels, channels[rng.IntN(len(channels))]),
					st.Find(Patterns, patterns[rng.IntN(len(patterns))]),
				}
				matches = st.Match(channels[rng.IntN(len(channels))], matches[:0])
				seen := map[*list]bool{}
				for _, l := range matches {
					if seen[l] {
						t.Errorf("Match shows %q twice", l.Name())
					}
					seen[l] = true
				}
				for _, l := range append(lists, matches...) {
					if l == nil {
						continue
					}
					members(onGoroutine{t}, l)
					if i%16 == 0 && len(albums[r].pictures) < 2000 {
						albums[r].add(l)
					}
				}
				if st.Count(Channels) < 1 || st.Subscriptions(Channels) < shards*(chunkSize+10) {
					t.Errorf("%d channels with %d subscriptions are fewer than those that stay",
						st.Count(Channels), st.Subscriptions(Channels))
				}
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(w)))
			o := &owner{id: w, shard: w % shards}
			var subs []*subscription
			var matches []*list
			for range rounds {
				kind, all := Channels, channels
				if rng.IntN(2) == 0 {
					kind, all = Patterns, patterns
				}
				from := rng.IntN(len(all))
				batch := all[from : from+1+rng.IntN(len(all)-from)]
				subs = st.Subscribe(kind, o.shard, o, batch, subs[:0])
				for i, sub := range subs {
					if !shows(st.Find(kind, batch[i]), sub) {
						t.Errorf("%q does not show a subscription that was made", batch[i])
					}
				}
				if kind == Patterns && from == 0 {
					found := false
					for _, l := range st.Match([]byte("abc"), matches[:0]) {
						found = found || shows(l, subs[0])
					}
					if !found {
						t.Errorf("abc does not match %q, which was subscribed to", batch[0])
					}
				}
				// In two parts, in any order.
				rng.Shuffle(len(subs), func(i, j int) { subs[i], subs[j] = subs[j], subs[i] })
				cut := rng.IntN(len(subs) + 1)
				for _, part := range [][]*subscription{subs[:cut], subs[cut:]} {
					st.Unsubscribe(part)
					for _, sub := range part {
						if shows(st.Find(kind, []byte(sub.Name())), sub) {
							t.Errorf("%q shows a subscription that was removed", sub.Name())
						}
						for _, probe := range []string{"a", "ab", "abc", "xyz"} {
							for _, l := range st.Match([]byte(probe), matches[:0]) {
								if shows(l, sub) {
									t.Errorf("%q matches %q by a subscription that was removed", probe, sub.Name())
								}
							}
						}
					}
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	for r := range albums {
		if len(albums[r].pictures) == 0 {
			t.Error("a reader loaded no list")
		}
		albums[r].check(t)
	}
	if got := st.Count(Channels) + st.Count(Patterns); got != 2 {
		t.Errorf("%d names are left, want 2", got)
	}
	st.Unsubscribe(permanent)
	checkIndex(t, st)
	if n := st.Subscriptions(Channels) + st.Subscriptions(Patterns); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}
