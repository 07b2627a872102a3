package channelstore

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"broker/internal/glob"
)

var sizes = []int{1, 1_000, 100_000, 1_000_000}

// populate subscribes one owner to n channels of 11 bytes.
func populate(st *store, kind Kind, n int) {
	o := &owner{}
	subs := make([]*subscription, 0, 1000)
	for from := 0; from < n; from += 1000 {
		subs = st.Subscribe(kind, 0, o, numbered("chan:", from, min(1000, n-from)), subs[:0])
	}
}

func BenchmarkFind(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("hit/channels=%d", n), func(b *testing.B) {
			st := New[*owner](2)
			populate(st, Channels, n)
			// A power of two, so that picking one costs a mask; spread over all
			// channels, so that large stores miss the caches as they would.
			keys := make([][]byte, 0, 1<<14)
			for i := range cap(keys) {
				keys = append(keys, fmt.Appendf(nil, "chan:%06d", i*7919%n))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if st.Find(Channels, keys[i&(len(keys)-1)]) == nil {
					b.Fatal("not found")
				}
			}
		})
		b.Run(fmt.Sprintf("miss/channels=%d", n), func(b *testing.B) {
			st := New[*owner](2)
			populate(st, Channels, n)
			keys := numbered("none:", 0, 1<<14)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if st.Find(Channels, keys[i&(len(keys)-1)]) != nil {
					b.Fatal("found")
				}
			}
		})
	}
}

// A pair is one Subscribe and one Unsubscribe of a name nobody else has.
func BenchmarkSubscribeUnsubscribe(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("channels=%d", n), func(b *testing.B) {
			st := New[*owner](2)
			populate(st, Channels, n)
			o := &owner{}
			own := numbered("mine:", 0, 1<<10)
			subs := make([]*subscription, 0, 1)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				k := i & (len(own) - 1)
				subs = st.Subscribe(Channels, 0, o, own[k:k+1], subs[:0])
				st.Unsubscribe(subs)
			}
		})
	}
}

// Subscribe alone: the store's growth is part of it.
func BenchmarkSubscribe(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("channels=%d", n), func(b *testing.B) {
			st := New[*owner](2)
			populate(st, Channels, n)
			o := &owner{}
			const batch = 1 << 12
			own := numbered("mine:", 0, batch)
			subs := make([]*subscription, 0, batch)
			b.ReportAllocs()
			for b.Loop() {
				for i := range own {
					subs = st.Subscribe(Channels, 0, o, own[i:i+1], subs)
				}
				b.StopTimer()
				st.Unsubscribe(subs)
				subs = subs[:0]
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/name")
		})
	}
}

func BenchmarkUnsubscribe(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("channels=%d", n), func(b *testing.B) {
			st := New[*owner](2)
			populate(st, Channels, n)
			o := &owner{}
			const batch = 1 << 12
			own := numbered("mine:", 0, batch)
			subs := make([]*subscription, 0, batch)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				subs = st.Subscribe(Channels, 0, o, own, subs[:0])
				b.StartTimer()
				for i := range subs {
					st.Unsubscribe(subs[i : i+1])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/name")
		})
	}
}

// The cost of the next subscription to a channel that has some already.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{0, 1_000, 100_000} {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			const batch = 256
			name := names("hot")
			subs := make([]*subscription, 0, batch)
			st := New[*owner](2)
			crowd(st, 2, Channels, "hot", n)
			o := &owner{}
			b.ReportAllocs()
			for b.Loop() {
				for range batch {
					subs = st.Subscribe(Channels, 0, o, name, subs)
				}
				b.StopTimer()
				st.Unsubscribe(subs)
				subs = subs[:0]
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/join")
		})
	}
}

// One of many subscribers goes and another comes.
func BenchmarkChurn(b *testing.B) {
	for _, n := range []int{2, 100, 5_000, 100_000} {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			st := New[*owner](2)
			subs := crowd(st, 2, Channels, "hot", n)
			name := names("hot")
			leaving := make([]*subscription, 1)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at := i * 7919 % n
				o := subs[at].Owner
				leaving[0] = subs[at]
				st.Unsubscribe(leaving)
				st.Subscribe(Channels, o.shard, o, name, subs[at:at])
			}
		})
	}
}

// All of a channel's subscribers leave, in the order they came in.
func BenchmarkTearDown(b *testing.B) {
	for _, n := range []int{5_000, 100_000} {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				st := New[*owner](2)
				subs := crowd(st, 2, Channels, "hot", n)
				b.StartTimer()
				for i := range subs {
					st.Unsubscribe(subs[i : i+1])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/leave")
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	run := func(title, channel string, want int, patterns func(yield func(string))) {
		b.Run(title, func(b *testing.B) {
			st := New[*owner](2)
			o := &owner{}
			patterns(func(p string) { st.Subscribe(Patterns, 0, o, names(p), nil) })
			name := []byte(channel)
			dst := make([]*list, 0, 64)
			b.ReportAllocs()
			for b.Loop() {
				dst = st.Match(name, dst[:0])
				if len(dst) != want {
					b.Fatalf("%d patterns match, want %d", len(dst), want)
				}
			}
		})
	}
	run("patterns=0", "news.tech.000000", 0, func(func(string)) {})
	for _, n := range []int{100, 10_000, 100_000} {
		run(fmt.Sprintf("none/common-prefix/patterns=%d", n), "news.tech.xxxxxx", 0, func(yield func(string)) {
			for i := range n {
				yield(fmt.Sprintf("news.tech.%06d*", i))
			}
		})
		run(fmt.Sprintf("none/suffix/patterns=%d", n), "news.tech.xxxxxx", 0, func(yield func(string)) {
			for i := range n {
				yield(fmt.Sprintf("*.%06d", i))
			}
		})
	}
	// Plain names, as programs that always use PSUBSCRIBE have them.
	run("none/plain/patterns=1000", "news.tech.xxxxxx.00000000000000000000000000", 0, func(yield func(string)) {
		for i := range 1000 {
			yield(fmt.Sprintf("news.%d", i) + strings.Repeat("z", i%30))
		}
	})
	run("ten/patterns=10000", "news.tech.xxxxxx", 10, func(yield func(string)) {
		for i := range 9_990 {
			yield(fmt.Sprintf("news.tech.%06d*", i))
		}
		for i := range 10 {
			yield("news.tech" + strings.Repeat("*", i+1))
		}
	})
	// Each pattern has a shape of its own: 65*65 probes for one name.
	run("none/every-shape/patterns=4225", strings.Repeat("x", 2*maxLiteral), 0, func(yield func(string)) {
		for prefix := range maxLiteral + 1 {
			for suffix := range maxLiteral + 1 {
				yield(strings.Repeat("x", prefix) + "*y*" + strings.Repeat("x", suffix))
			}
		}
	})
	// The same, but no name has the texts: nothing but probes.
	run("none/every-shape-missing/patterns=4225", strings.Repeat("x", 2*maxLiteral), 0, func(yield func(string)) {
		for prefix := range maxLiteral + 1 {
			for suffix := range maxLiteral + 1 {
				yield(strings.Repeat("a", prefix) + "*y*" + strings.Repeat("b", suffix))
			}
		}
	})
	// Nothing to index by: every pattern is matched, as Redis does.
	run("none/no-literals/patterns=10000", "news.tech.xxxxxx", 0, func(yield func(string)) {
		for i := range 10_000 {
			yield(fmt.Sprintf("*%06d*", i))
		}
	})
}

// What the index saves: every pattern is matched, one after the other.
func BenchmarkMatchOneByOne(b *testing.B) {
	for _, bench := range []struct {
		title   string
		channel string
		n       int
		pattern func(i int) string
	}{
		{"common-prefix/patterns=10000", "news.tech.xxxxxx", 10_000, func(i int) string {
			return fmt.Sprintf("news.tech.%06d*", i)
		}},
		{"every-shape/patterns=4225", strings.Repeat("x", 2*maxLiteral), 65 * 65, func(i int) string {
			return strings.Repeat("x", i/65) + "*y*" + strings.Repeat("x", i%65)
		}},
		{"every-shape-missing/patterns=4225", strings.Repeat("x", 2*maxLiteral), 65 * 65, func(i int) string {
			return strings.Repeat("a", i/65) + "*y*" + strings.Repeat("b", i%65)
		}},
	} {
		b.Run(bench.title, func(b *testing.B) {
			var patterns []string
			for i := range bench.n {
				patterns = append(patterns, bench.pattern(i))
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range patterns {
					if glob.Match(p, bench.channel) {
						b.Fatal("matches")
					}
				}
			}
		})
	}
}

// Readers of other channels while one goroutine joins and leaves a channel that
// exists.
func BenchmarkFindBesideWriter(b *testing.B) {
	st := New[*owner](2)
	populate(st, Channels, 1000)
	crowd(st, 1, Channels, "hot", 8)
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		o := &owner{}
		hot := names("hot")
		var subs []*subscription
		for {
			select {
			case <-done:
				return
			default:
			}
			subs = st.Subscribe(Channels, 0, o, hot, subs[:0])
			st.Unsubscribe(subs)
		}
	})
	keys := numbered("chan:", 0, 512)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if st.Find(Channels, keys[i&(len(keys)-1)]) == nil {
			b.Fatal("not found")
		}
	}
	close(done)
	writing.Wait()
}
