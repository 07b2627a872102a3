package channelstore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Whatever is asked for, nothing becomes visible while somebody else holds the
// control mutex.
func TestInvariant_OneWriterInstallsUnderTheControlMutex(t *testing.T) {
	st := New[*owner](2)
	all := names("a", "b", "c")
	var held []*subscription
	var before []*list
	read := func() (lists []*list) {
		for k := Channels; k < kinds; k++ {
			for _, name := range append(all, []byte("new")) {
				lists = append(lists, st.Find(k, name))
			}
		}
		return append(lists, st.Match([]byte("a"), nil)...)
	}
	for k := Channels; k < kinds; k++ {
		held = st.Subscribe(k, 0, &owner{}, all, held)
	}
	before = read()

	r := newRound(t, st)
	installs := st.installs
	made := make([][]*subscription, kinds)
	for k := Channels; k < kinds; k++ {
		r.join(&owner{id: 1, shard: 1}, k, &made[k], "a", "new")
		r.leave(held[3*k], held[3*k+1])
		r.leave(held[3*k+2])
	}
	for i, l := range read() {
		if l != before[i] {
			t.Errorf("list %d was replaced while the control mutex was held", i)
		}
	}
	for k := Channels; k < kinds; k++ {
		if st.Count(k) != 3 || st.Subscriptions(k) != 3 {
			t.Errorf("kind %d counts %d names and %d subscriptions while the control mutex is held, want 3 and 3",
				k, st.Count(k), st.Subscriptions(k))
		}
	}
	if st.installs != installs {
		t.Errorf("%d lists were installed while the control mutex was held", st.installs-installs)
	}
	r.end()
	for k := Channels; k < kinds; k++ {
		if st.Count(k) != 2 || st.Subscriptions(k) != 2 {
			t.Errorf("kind %d counts %d names and %d subscriptions in the end, want 2 and 2",
				k, st.Count(k), st.Subscriptions(k))
		}
	}
}

// Two writers at a time would lose one another's subscriptions: each would
// derive the next list from the same one.
func TestInvariant_OneWriterLosesNoUpdate(t *testing.T) {
	const writers, each = 8, 200
	st := New[*owner](writers)
	made := make([][]*subscription, writers)
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range each {
				made[w] = st.Subscribe(Channels, w, &owner{id: i, shard: w}, names("hot"), made[w])
			}
		})
	}
	running.Wait()
	l := st.Find(Channels, []byte("hot"))
	if got := len(members(t, l)); got != writers*each {
		t.Fatalf("%d subscriptions, want %d", got, writers*each)
	}
	for w := range writers {
		running.Go(func() {
			for _, sub := range made[w] {
				st.Unsubscribe([]*subscription{sub})
			}
		})
	}
	running.Wait()
	if st.Find(Channels, []byte("hot")) != nil {
		t.Fatal("subscriptions are left")
	}
	if st.installs > 2*writers*each {
		t.Fatalf("%d updates installed %d lists", 2*writers*each, st.installs)
	}
	checkIndex(t, st)
}

// Every list a channel ever had still shows what it showed when it was new.
func TestInvariant_FrozenListsStayAsTheyWereInstalled(t *testing.T) {
	const shards = 2
	st := New[*owner](shards)
	name := names("hot")
	var subs []*subscription
	var a album
	join := func(n int) {
		for range n {
			o := &owner{id: len(subs), shard: len(subs) % shards}
			subs = st.Subscribe(Channels, o.shard, o, name, subs)
			a.add(st.Find(Channels, name[0]))
		}
	}
	leave := func(n int, which func(n int) int) {
		for range min(n, len(subs)) {
			i := which(len(subs))
			st.Unsubscribe(subs[i : i+1])
			subs[i] = subs[len(subs)-1]
			subs = subs[:len(subs)-1]
			a.add(st.Find(Channels, name[0]))
		}
	}
	for _, which := range []func(n int) int{
		func(int) int { return 0 },
		func(n int) int { return n - 1 },
		func(n int) int { return n / 2 },
	} {
		join(shards*chunkSize + 3)
		leave(7, which)
		join(9)
		leave(chunkSize, which)
		join(chunkSize / 2)
		leave(len(subs), which)
		join(1) // with a new entry
		leave(1, which)
	}
	if len(a.pictures) < 3*2*shards*chunkSize {
		t.Fatalf("only %d lists were kept", len(a.pictures))
	}
	a.check(t)
}

// The same for what the index of patterns is made of.
func TestInvariant_FrozenIndexOfPatterns(t *testing.T) {
	st := New[*owner](1)
	type picture struct {
		bucket *vector[*pattern[*owner]]
		showed []*pattern[*owner]
		shapes *[]shape
		were   []shape
	}
	var pictures []picture
	look := func() {
		var p picture
		if b, ok := st.patterns.buckets.Load(literals{"a", ""}); ok {
			p.bucket = b.patterns.Load()
			for i := range p.bucket.chunks() {
				p.showed = append(p.showed, p.bucket.chunk(i)...)
			}
		}
		if p.shapes = st.patterns.shapes.Load(); p.shapes != nil {
			p.were = append(p.were, *p.shapes...)
		}
		pictures = append(pictures, p)
	}
	// One bucket for nearly all, and now and then a new shape.
	var subs []*subscription
	for i := range chunkSize + 5 {
		name := fmt.Sprintf("a*%d*", i)
		if i%10 == 0 {
			name = strings.Repeat("b", 1+i/10) + "*?"
		}
		subs = st.Subscribe(Patterns, 0, &owner{}, names(name), subs)
		look()
	}
	for len(subs) > 0 {
		i := len(subs) / 3
		st.Unsubscribe(subs[i : i+1])
		subs = slices.Delete(subs, i, i+1)
		look()
	}
	if last := pictures[len(pictures)-1]; last.shapes != nil || last.bucket != nil {
		t.Fatal("an index without patterns has shapes or a bucket")
	}
	for n, p := range pictures {
		var shows []*pattern[*owner]
		if p.bucket != nil {
			for i := range p.bucket.chunks() {
				shows = append(shows, p.bucket.chunk(i)...)
			}
		}
		if len(shows) != len(p.showed) {
			t.Fatalf("picture %d: the bucket had %d patterns and has %d", n, len(p.showed), len(shows))
		}
		for i := range shows {
			if shows[i] != p.showed[i] {
				t.Fatalf("picture %d: pattern %d of the bucket is another one", n, i)
			}
		}
		for i := range p.were {
			if (*p.shapes)[i] != p.were[i] {
				t.Fatalf("picture %d: shape %d was %v and is %v", n, i, p.were[i], (*p.shapes)[i])
			}
		}
	}
}
