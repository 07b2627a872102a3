package shard

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"broker/channelstore"
	"broker/resp"
)

// discardDriver takes every byte at once and never has an event: what is left
// is the cost of our own code.
type discardDriver struct{ wakes chan struct{} }

func (d *discardDriver) ownThread() bool             { return true }
func (d *discardDriver) poll(events []event) []event { return events }
func (d *discardDriver) wait(events []event, timeout time.Duration) []event {
	<-d.wakes
	return events
}
func (d *discardDriver) wake() {
	select {
	case d.wakes <- struct{}{}:
	default:
	}
}
func (d *discardDriver) add(*Session) error                 { return nil }
func (d *discardDriver) interest(*Session)                  {}
func (d *discardDriver) read(*Session, []byte) (int, error) { return 0, io.EOF }
func (d *discardDriver) write(_ *Session, b []byte) (int, error) {
	return len(b), nil
}
func (d *discardDriver) writev(_ *Session, bs [][]byte) (int, error) {
	n := 0
	for _, b := range bs {
		n += len(b)
	}
	return n, nil
}
func (d *discardDriver) drained(*Session)                {}
func (d *discardDriver) shutdownWrite(*Session)          {}
func (d *discardDriver) delivered(*Session) bool         { return true }
func (d *discardDriver) remove(*Session)                 {}
func (d *discardDriver) addrs(*Session) (string, string) { return "", "" }
func (d *discardDriver) close()                          {}

// newDiscardGroup returns loops that no goroutine runs: the caller calls turn.
func newDiscardGroup(shards int) *Group {
	g := &Group{
		cfg: Config{
			Shards: shards, Limits: resp.DefaultLimits(), Log: slog.New(slog.DiscardHandler),
			ReplyBacklogBytes: defaultReplyBacklogBytes,
			Settings: Settings{
				QueryBufferBytes: 1 << 30,
				PubSubLimit:      OutputLimit{HardBytes: 32 << 20, SoftBytes: 8 << 20, SoftPeriod: time.Minute},
			},
		},
		store:   channelstore.New[*Session](shards),
		started: time.Now(),
	}
	for i := range shards {
		g.loops = append(g.loops, newLoop(g, i, &discardDriver{make(chan struct{}, 1)}))
	}
	return g
}

func (g *Group) discardSession(l *Loop) *Session {
	s := &Session{loop: l, id: g.nextID.Add(1), proto: resp.RESP2, fd: -1}
	l.adopt(s)
	return s
}

// publishTurns runs turns of one loop with publishes of one session each.
func publishTurns(l *Loop, s *Session, turns, each int, channel, payload []byte) {
	for range turns {
		for range each {
			s.Reply().Int(int64(s.Publish(channelstore.Channels, channel, payload)))
		}
		l.turn() // the replies to flush keep it from sleeping
	}
}

// TestPublish_Allocations asserts what a PUBLISH allocates in the steady
// state: nothing without receivers, and a share of a slab with eight.
func TestPublish_Allocations(t *testing.T) {
	t.Run("receivers=0", func(t *testing.T) {
		g := newDiscardGroup(1)
		p := g.discardSession(g.loops[0])
		channel, payload := []byte("news"), []byte("hello")
		if n := testing.AllocsPerRun(1000, func() { publishTurns(p.loop, p, 1, 1, channel, payload) }); n != 0 {
			t.Errorf("a PUBLISH without receivers allocates %v times", n)
		}
	})
	for _, proto := range []resp.Proto{resp.RESP2, resp.RESP3} {
		t.Run(fmt.Sprintf("receivers=8/resp=%d", proto), func(t *testing.T) {
			const turns, each = 200, 30
			g := newDiscardGroup(1)
			l := g.loops[0]
			p := g.discardSession(l)
			for range 8 {
				s := g.discardSession(l)
				s.SetProto(proto)
				s.Subscribe(channelstore.Channels, [][]byte{[]byte("news")})
			}
			payload := make([]byte, 32)
			run := func() { publishTurns(l, p, turns, each, []byte("news"), payload) }
			run()
			most := 0.05
			if raceEnabled {
				most = 0.2 // the race detector has sync.Pool drop a part of what is put back
			}
			if got := testing.AllocsPerRun(5, run) / (turns * each); got > most {
				t.Errorf("%.4f allocations per PUBLISH, want at most %v", got, most)
			}
		})
	}
}

// TestInvariant_TotalOrder_HandOver has three loops hand over at the same time,
// as fast as they can, to eight shards: all inboxes hold the same sequence.
func TestInvariant_TotalOrder_HandOver(t *testing.T) {
	const shards, publishers, each = 8, 3, 20_000
	g := newDiscardGroup(shards)
	for _, l := range g.loops {
		g.discardSession(l).Subscribe(channelstore.Channels, [][]byte{[]byte("news")})
	}
	var publishing sync.WaitGroup
	start := make(chan struct{})
	for _, l := range g.loops[:publishers] {
		p := g.discardSession(l)
		publishing.Go(func() {
			<-start
			for range each {
				p.Publish(channelstore.Channels, []byte("news"), []byte("x"))
				l.handOver()
			}
		})
	}
	close(start)
	publishing.Wait()
	var first []*batch
	for i, l := range g.loops {
		var order []*batch
		for p := l.inbox.take(); p != nil; p = p.next {
			order = append(order, p.batch)
		}
		if i == 0 {
			first = order
		}
		if len(order) != publishers*each || !slices.Equal(order, first) {
			t.Fatalf("shard %d: %d batches, in another order than shard 0", i, len(order))
		}
	}
}

// BenchmarkPublish measures a PUBLISH and its deliveries up to the system call,
// thirty to a turn. With several shards every shard publishes, and the time is
// per PUBLISH of all together.
func BenchmarkPublish(b *testing.B) {
	for _, shards := range []int{1, 2} {
		for _, subs := range []int{0, 8, 1000} {
			for _, size := range []int{32, 1024, 64 << 10} {
				b.Run(fmt.Sprintf("subs=%d/payload=%dB/shards=%d", subs, size, shards), func(b *testing.B) {
					benchmarkPublish(b, shards, subs, size)
				})
			}
		}
	}
}

func benchmarkPublish(b *testing.B, shards, subs, size int) {
	g := newDiscardGroup(shards)
	var publishers []*Session
	for _, l := range g.loops {
		publishers = append(publishers, g.discardSession(l))
	}
	for i := range subs {
		s := g.discardSession(g.loops[i%shards])
		s.Subscribe(channelstore.Channels, [][]byte{[]byte("news")})
	}
	payload := make([]byte, size)
	const each = 30
	b.ReportAllocs()
	b.ResetTimer()
	turns := (b.N + each*shards - 1) / (each * shards)
	var wg sync.WaitGroup
	for i, l := range g.loops {
		wg.Go(func() { publishTurns(l, publishers[i], turns, each, []byte("news"), payload) })
	}
	wg.Wait()
}

// TestSubscribe_ManyNamesCostTheirNumber guards against work per slice that
// grows with what is left.
func TestSubscribe_ManyNamesCostTheirNumber(t *testing.T) {
	const n = 200_000
	names := make([][]byte, n)
	for i := range names {
		names[i] = fmt.Appendf(nil, "channel:%d", i)
	}
	g := newDiscardGroup(1)
	l := g.loops[0]
	s := g.discardSession(l)
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		for len(l.ready) > 0 {
			l.turn()
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if got := allocated(func() { s.Subscribe(channelstore.Channels, names) }); got > n*1000 {
		t.Errorf("subscribing to %d names allocated %d MB", n, got>>20)
	}
	if got := s.Subscriptions(channelstore.Channels); got != n {
		t.Errorf("%d subscriptions, want %d", got, n)
	}
	if got := allocated(func() { s.Unsubscribe(channelstore.Channels, names) }); got > n*1000 {
		t.Errorf("unsubscribing from %d names allocated %d MB", n, got>>20)
	}
	if got := s.Subscriptions(channelstore.Channels); got != 0 {
		t.Errorf("%d subscriptions are left", got)
	}
}
