package shard

import (
	"fmt"
	"testing"

	"broker/channelstore"
)

// BenchmarkChurn subscribes to and unsubscribes from a channel of the
// session's own, beside many others.
func BenchmarkChurn(b *testing.B) {
	g := newDiscardGroup(1)
	l := g.loops[0]
	others := g.discardSession(l)
	var names [][]byte
	for i := range 100_000 {
		names = append(names, fmt.Appendf(nil, "other%07d", i))
	}
	for len(names) > 0 {
		others.Subscribe(channelstore.Channels, names[:500])
		names = names[500:]
		l.turn()
	}
	s := g.discardSession(l)
	name := [][]byte{[]byte("own0000001")}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		s.Subscribe(channelstore.Channels, name)
		s.Unsubscribe(channelstore.Channels, name)
		if i%30 == 29 {
			l.turn()
		}
	}
}
