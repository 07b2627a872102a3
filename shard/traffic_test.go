package shard

import (
	"fmt"
	"math"
	"testing"
	"time"

	"broker/channelstore"
)

// A quiet loop counts exactly.
func TestTraffic_CountsExactly(t *testing.T) {
	g := newDiscardGroup(1)
	l := g.loops[0]
	p := g.discardSession(l)
	for range 3 {
		g.discardSession(l).Subscribe(channelstore.Channels, [][]byte{[]byte("a")})
	}
	l.now = int64(5 * time.Second)
	for i := range 100 {
		l.now += int64(10 * time.Millisecond)
		p.Publish(channelstore.Channels, []byte("a"), make([]byte, 10))
		if i%2 == 0 {
			p.Publish(channelstore.Channels, []byte("nobody"), make([]byte, 7))
		}
		l.handOver()
		l.takeInbox()
	}
	got, ok := l.ChannelTraffic([]byte("a"))
	want := ChannelTraffic{Messages: 100, Bytes: 1000, Deliveries: 300, DeliveredBytes: 3000, LastSecond: 99, SampledOneIn: 1}
	want.PerSecondInMinute = got.PerSecondInMinute
	if !ok || got != want || math.Abs(got.PerSecondInMinute-99.0/60) > 0.01 {
		t.Errorf("got %+v, want %+v with %v a second", got, want, 99.0/60)
	}
	if got, _ := l.ChannelTraffic([]byte("nobody")); got.Messages != 50 || got.Bytes != 350 || got.Deliveries != 0 {
		t.Errorf("without receivers: %+v", got)
	}
	l.now += int64(10 * time.Second)
	if got, _ := l.ChannelTraffic([]byte("a")); got.LastSecond != 0 || got.Messages != 100 {
		t.Errorf("ten seconds later: %+v", got)
	}
	if _, ok := l.ChannelTraffic([]byte("unknown")); ok {
		t.Error("something is known of a channel that nobody has published to")
	}
}

// A busy loop looks at a part, and the sums stay near the truth.
func TestTraffic_SamplesUnderLoad(t *testing.T) {
	g := newDiscardGroup(1)
	l := g.loops[0]
	p := g.discardSession(l)
	sent := map[string]int64{}
	for i := range 2_000_000 {
		l.now += 1000 // a million a second
		name := "rare"
		if i%10 != 0 {
			name = "hot"
		}
		if i >= 1_000_000 { // the sampling has settled
			sent[name]++
		} else if i == 999_999 {
			clear(l.traffic.channels)
		}
		p.Publish(channelstore.Channels, []byte(name), nil)
	}
	for name, n := range sent {
		got, _ := l.ChannelTraffic([]byte(name))
		if r := float64(got.Messages) / float64(n); r < 0.9 || r > 1.1 || got.SampledOneIn < 10 {
			t.Errorf("%s: %d of %d messages, one in %d looked at", name, got.Messages, n, got.SampledOneIn)
		}
	}
}

func TestTraffic_IsBounded(t *testing.T) {
	g := newDiscardGroup(1)
	l := g.loops[0]
	p := g.discardSession(l)
	for i := range 3 * maxTracked {
		l.now += int64(time.Millisecond)
		p.Publish(channelstore.Channels, fmt.Appendf(nil, "c%d", i), nil)
		p.Publish(channelstore.Channels, []byte("busy"), nil)
	}
	p.Publish(channelstore.Channels, make([]byte, maxTrackedName+1), nil)
	if n := len(l.traffic.channels); n > maxTracked {
		t.Errorf("%d channels are kept", n)
	}
	if got, _ := l.ChannelTraffic([]byte("busy")); got.Messages != 3*maxTracked {
		t.Errorf("a busy channel was forgotten: %+v", got)
	}
}
