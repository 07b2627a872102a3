package shard

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// Traffic by channel.
//
// Each loop keeps counters for the channels that its sessions publish to, so
// that no cache line is shared. Looking a channel up costs several times what
// the rest of a PUBLISH without receivers does, so a busy loop looks at one
// message in N and counts it as N; N is adapted so that some sampledPerSecond
// are looked at. A quiet loop counts exactly.
const (
	sampledPerSecond = 10_000
	maxSampleWeight  = 1024
	adaptPeriod      = int64(100 * time.Millisecond)

	// maxTracked bounds the channels that one loop keeps counters for. When
	// there are so many, a new one takes the place of one that has been quiet,
	// but only one in admission tries: among millions of channels nearly every
	// sample is a new one, and most are not seen again. maxTrackedName bounds
	// the names.
	maxTracked     = 4096
	admission      = 16
	maxTrackedName = 1024
)

// traffic is the state of one loop.
type traffic struct {
	skip     int   // messages until the next sample
	weight   int   // messages that one sample stands for
	adapted  int64 // when weight was last chosen
	messages int64 // Stats.Messages at that time
	channels map[string]*channelTraffic
}

// A ChannelTraffic is what was published to a channel, as far as it was
// looked at.
type ChannelTraffic struct {
	Messages, Bytes   int64 // published; bytes of payload
	Deliveries        int64 // frames for subscribers
	DeliveredBytes    int64 // of payload
	Dropped           int64 // frames that a slow-subscriber policy dropped
	LastSecond        int64 // messages in the second before this one
	PerSecondInMinute float64
	// SampledOneIn is the N of the newest sample; 1: everything was counted.
	SampledOneIn int
}

type channelTraffic struct {
	ChannelTraffic
	second int64 // which second current counts
	count  int64 // messages in it
}

// sample counts one message in l.traffic.weight.
func (l *Loop) sample(channel []byte, payloadBytes, receivers int) {
	t := &l.traffic
	if l.now-t.adapted >= adaptPeriod {
		perSecond := (l.stats.Messages - t.messages) * int64(time.Second) / max(1, l.now-t.adapted)
		t.weight = int(min(max(perSecond/sampledPerSecond, 1), maxSampleWeight))
		t.adapted, t.messages = l.now, l.stats.Messages
	}
	if t.weight > 1 {
		t.skip = rand.IntN(2*t.weight - 1)
	}
	n := int64(t.weight)
	l.stats.FanOut[sizeBucket(receivers)] += n
	l.stats.FanOutSum += n * int64(receivers)
	l.stats.MessageBytes[sizeBucket(payloadBytes)] += n
	l.stats.MessageBytesSum += n * int64(payloadBytes)
	c := t.find(channel)
	if c == nil {
		return
	}
	c.roll(l.now / int64(time.Second))
	c.count += n
	c.Messages += n
	c.Bytes += n * int64(payloadBytes)
	c.Deliveries += n * int64(receivers)
	c.DeliveredBytes += n * int64(receivers) * int64(payloadBytes)
	c.SampledOneIn = t.weight
}

func sizeBucket(n int) int { return min(bits.Len64(uint64(n)), SizeBuckets-1) }

// find returns the counters of a channel, which may be new; nil: it is not
// tracked.
func (t *traffic) find(channel []byte) *channelTraffic {
	if c := t.channels[string(channel)]; c != nil {
		return c
	}
	if len(channel) > maxTrackedName {
		return nil
	}
	if t.channels == nil {
		t.channels = map[string]*channelTraffic{}
	}
	var c *channelTraffic
	switch {
	case len(t.channels) < maxTracked:
		c = &channelTraffic{}
	case rand.IntN(admission) == 0:
		c = t.forget()
	default:
		return nil
	}
	t.channels[string(channel)] = c
	return c
}

// forget takes the counters of the quietest of a few channels. Go's maps begin
// a walk at a random place.
func (t *traffic) forget() *channelTraffic {
	const looks = 8
	victim, least, n := "", int64(math.MaxInt64), 0
	for name, c := range t.channels {
		if c.second < least {
			victim, least = name, c.second
		}
		if n++; n == looks {
			break
		}
	}
	c := t.channels[victim]
	delete(t.channels, victim)
	*c = channelTraffic{}
	return c
}

// roll closes the seconds before second. The average over a minute decays by a
// sixtieth each second.
func (c *channelTraffic) roll(second int64) {
	if c.second == second {
		return
	}
	passed := second - c.second
	if c.second == 0 {
		passed = 1
	}
	c.LastSecond = 0
	if passed == 1 {
		c.LastSecond = c.count
	}
	c.PerSecondInMinute += (float64(c.count) - c.PerSecondInMinute) / 60
	c.PerSecondInMinute *= math.Pow(59.0/60, float64(passed-1))
	c.second, c.count = second, 0
}

// countDropped counts messages of a channel that were dropped.
func (l *Loop) countDropped(channel string, n int64) {
	l.stats.Dropped += n
	if c := l.traffic.find([]byte(channel)); c != nil {
		c.roll(l.now / int64(time.Second))
		c.Dropped += n
	}
}

// ChannelTraffic returns what this loop's sessions published to a channel, and
// whether it knows anything of it.
func (l *Loop) ChannelTraffic(channel []byte) (ChannelTraffic, bool) {
	c := l.traffic.channels[string(channel)]
	if c == nil {
		return ChannelTraffic{}, false
	}
	c.roll(l.now / int64(time.Second))
	return c.ChannelTraffic, true
}

// Traffic calls yield for every channel that the loop keeps counters for.
func (l *Loop) Traffic(yield func(channel string, t ChannelTraffic) bool) {
	for name, c := range l.traffic.channels {
		c.roll(l.now / int64(time.Second))
		if !yield(name, c.ChannelTraffic) {
			return
		}
	}
}

// Add adds the counters of another loop.
func (t *ChannelTraffic) Add(o ChannelTraffic) {
	t.Messages += o.Messages
	t.Bytes += o.Bytes
	t.Deliveries += o.Deliveries
	t.DeliveredBytes += o.DeliveredBytes
	t.Dropped += o.Dropped
	t.LastSecond += o.LastSecond
	t.PerSecondInMinute += o.PerSecondInMinute
	t.SampledOneIn = max(t.SampledOneIn, o.SampledOneIn)
}
