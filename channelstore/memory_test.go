package channelstore

import (
	"runtime"
	"strings"
	"testing"
	"weak"
)

// heapBytes returns what is reachable.
func heapBytes() int64 {
	// The second frees what was allocated while the first one ran.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// subscribeMany subscribes o to n numbered names in batches.
func subscribeMany(st *store, kind Kind, o *owner, prefix string, n int, subs []*subscription) []*subscription {
	const batch = 1000
	for from := 0; from < n; from += batch {
		subs = st.Subscribe(kind, o.shard, o, numbered(prefix, from, min(batch, n-from)), subs)
	}
	return subs
}

// Subscribe to everything, unsubscribe from everything: what is left is the
// smallest index there is. xsync.MapOf halves its table when a deletion leaves a
// bucket empty and less than 1/128 of the slots in use; a store that falls from a
// million channels to some ten thousand keeps the large table, 64 bytes for five
// slots.
func TestMemory_NothingIsLeftBehind(t *testing.T) {
	for _, test := range []struct {
		title  string
		kind   Kind
		prefix string
		n      int
	}{
		{"channels", Channels, "chan:", 1_000_000},
		{"patterns", Patterns, "*:", 200_000},
	} {
		t.Run(test.title, func(t *testing.T) {
			n := test.n
			if raceEnabled {
				n /= 20
			}
			o := &owner{}
			subs := make([]*subscription, 0, n)
			st := New[*owner](1)
			before := heapBytes()
			subs = subscribeMany(st, test.kind, o, test.prefix, n, subs)
			full := heapBytes()
			if full-before < int64(n)*100 {
				t.Fatalf("%d names took %d bytes: the test measures nothing", n, full-before)
			}
			st.Unsubscribe(subs)
			clear(subs)
			left := heapBytes() - before
			t.Logf("%d names: %d bytes, %d left behind", n, full-before, left)
			if left > 1<<20 {
				t.Errorf("%d bytes are left behind by %d names", left, n)
			}
			checkIndex(t, st)
			if st.Count(test.kind) != 0 || st.Subscriptions(test.kind) != 0 {
				t.Error("names or subscriptions are counted that are gone")
			}
			runtime.KeepAlive(subs)
			runtime.KeepAlive(st)
		})
	}
}

// A channel that goes on without an owner must not keep it, nor its session's
// buffers: nobody may ever subscribe to that channel again.
func TestUnsubscribe_LetsGoOfTheOwner(t *testing.T) {
	for _, test := range []struct {
		title  string
		before int // subscriptions that stay, made before and after it
		after  int
	}{
		{"last of two", 1, 0},
		{"first of two", 0, 1},
		{"in the middle", 5, 5},
		{"last of a chunk", chunkSize - 1, 0},
		{"alone in a chunk", chunkSize, 0},
		{"in a full chunk", 3, 2 * chunkSize},
		{"in a full chunk, one behind", chunkSize - 1, 1},
	} {
		t.Run(test.title, func(t *testing.T) {
			st := New[*owner](2)
			crowd(st, 1, Channels, "quiet", test.before)
			o := &owner{}
			subs := st.Subscribe(Channels, 0, o, names("quiet"), nil)
			// Alone in its shard's part, and a pattern.
			other := &owner{shard: 1}
			subs = st.Subscribe(Channels, 1, other, names("quiet"), subs)
			crowd(st, 1, Patterns, "quie*", 1)
			subs = st.Subscribe(Patterns, 1, other, names("quie*", "other*"), subs)
			crowd(st, 1, Channels, "quiet", test.after)

			gone := []weak.Pointer[owner]{weak.Make(o), weak.Make(other)}
			o, other = nil, nil
			st.Unsubscribe(subs)
			clear(subs)
			runtime.GC()
			for i, o := range gone {
				if o.Value() != nil {
					t.Errorf("owner %d is still reachable", i)
				}
			}
			if l := st.Find(Channels, []byte("quiet")); l == nil || l.Len() != test.before+test.after {
				t.Error("those that stay do not")
			}
			runtime.KeepAlive(st)
		})
	}
}

// A bucket of the pattern index outlives the pattern it was made for.
func TestMemory_LongPatternsGo(t *testing.T) {
	const n, longBytes = 16, 1 << 20
	st := New[*owner](1)
	o := &owner{}
	before := heapBytes()
	var subs, short []*subscription
	for i := range n {
		text := string(rune('a' + i))
		subs = st.Subscribe(Patterns, 0, o, names(text+"*"+strings.Repeat("l", longBytes)+"*"+text), subs)
		short = st.Subscribe(Patterns, 0, o, names(text+"*s*"+text), short)
	}
	if full := heapBytes() - before; full < n*longBytes {
		t.Fatalf("%d long patterns take %d bytes: the test measures nothing", n, full)
	}
	st.Unsubscribe(subs)
	clear(subs)
	if left := heapBytes() - before; left > longBytes {
		t.Errorf("%d bytes are left behind by %d long patterns", left, n)
	}
	runtime.KeepAlive(short)
	runtime.KeepAlive(st)
}

// bytesPerChannel bounds what a channel of 11 bytes with one subscriber costs:
// name, entry, list, subscription and its share of the index. The session's
// own table of subscriptions is not part of it.
const bytesPerChannel = 350

func TestMemory_PerChannel(t *testing.T) {
	for _, n := range []int{200_000, 400_000} {
		if raceEnabled {
			n /= 10
		}
		o := &owner{}
		subs := make([]*subscription, 0, n)
		st := New[*owner](1)
		before := heapBytes()
		subs = subscribeMany(st, Channels, o, "chan:", n, subs)
		per := (heapBytes() - before) / int64(n)
		t.Logf("%d channels: %d bytes each", n, per)
		if per > bytesPerChannel {
			t.Errorf("%d channels take %d bytes each, want at most %d", n, per, bytesPerChannel)
		}
		runtime.KeepAlive(subs)
		runtime.KeepAlive(st)
	}
}

// The 100,000th subscription to a channel allocates about what the first ones
// do: a list, a subscription and a share of a chunk, not a copy of the rest.
func TestSubscribe_AllocatesTheSameHoweverManyThereAre(t *testing.T) {
	n := 100_000
	if raceEnabled {
		n /= 5
	}
	const joins = 4 * chunkSize
	st := New[*owner](1)
	o := &owner{}
	name := names("hot")
	subs := make([]*subscription, 0, n)
	measure := func() (bytes, objects uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range joins {
			subs = st.Subscribe(Channels, 0, o, name, subs)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / joins, (after.Mallocs - before.Mallocs)
	}
	firstBytes, firstObjects := measure()
	for len(subs) < n-joins {
		subs = st.Subscribe(Channels, 0, o, name, subs)
	}
	lastBytes, lastObjects := measure()
	t.Logf("the first %d joins: %d bytes each, %d objects; the last of %d: %d bytes each, %d objects",
		joins, firstBytes, firstObjects, n, lastBytes, lastObjects)
	// The spine doubles now and then: n/chunkSize pointers.
	if lastBytes > firstBytes+64 || lastObjects > firstObjects+joins/8 {
		t.Errorf("a join beside %d subscribers allocates %d bytes, beside none %d", n, lastBytes, firstBytes)
	}
}

func TestReaders_AllocateNothing(t *testing.T) {
	st := New[*owner](1)
	o := &owner{}
	st.Subscribe(Channels, 0, o, names("news.tech"), nil)
	st.Subscribe(Patterns, 0, o, names("news.*", "*.tech", "n?ws.t*", "*", "news.tech", "sports.*"), nil)
	name, nobody := []byte("news.tech"), []byte("nobody")
	dst := make([]*list, 0, 8)
	for title, read := range map[string]func(){
		"Find": func() {
			if st.Find(Channels, name) == nil || st.Find(Channels, nobody) != nil {
				t.Error("Find found the wrong ones")
			}
		},
		"Match": func() {
			if dst = st.Match(name, dst[:0]); len(dst) != 5 {
				t.Errorf("%d patterns match, want 5", len(dst))
			}
		},
	} {
		if n := testing.AllocsPerRun(100, read); n != 0 {
			t.Errorf("%s allocates %v objects", title, n)
		}
	}
}
