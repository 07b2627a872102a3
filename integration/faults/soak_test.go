package faults

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// A soak is a load that goes on: publishers at a steady rate, subscribers that
// stay and count, and clients that come and go.
type soak struct {
	t    *testing.T
	p    *process
	done chan struct{}
	all  sync.WaitGroup

	published, delivered, connections, subscriptions atomic.Int64
}

const (
	soakChannels    = 10
	soakPublishers  = 2
	soakSubscribers = 20

	// Churn per second.
	soakConnections   = 200
	soakSubscriptions = 2000
)

// every calls f at a steady rate, as often as that has become due, until the
// soak ends or f says false.
func (s *soak) every(period time.Duration, f func() bool) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
			if !f() {
				return
			}
		}
	}
}

// subscriber stays, and expects the messages of each publisher without a gap.
func (s *soak) subscriber(c *harness.Conn) {
	var next [soakPublishers]int64
	for {
		v, err := c.Next()
		if err != nil || len(v.Elems) != 3 {
			s.t.Errorf("a subscriber that stays: %v %v", v, err)
			return
		}
		from, number, _ := strings.Cut(v.Elems[2].Text, " ")
		if from == "end" {
			return
		}
		p, err1 := strconv.Atoi(from)
		n, err2 := strconv.ParseInt(number, 10, 64)
		if err1 != nil || err2 != nil || n != next[p] {
			s.t.Errorf("message %q of publisher %d came when %d was next", v.Elems[2].Text, p, next[p])
			return
		}
		next[p]++
		s.delivered.Add(1)
	}
}

// publisher sends batches of messages, as many a second as rate says; 0 is as
// many as can be.
func (s *soak) publisher(p int, c *harness.Conn, n *int64, rate float64, until <-chan struct{}) {
	const batch = 20
	r := rand.New(rand.NewPCG(uint64(p), 10))
	send := func() bool {
		var b []byte
		for range batch {
			payload := fmt.Sprintf("%d %d", p, *n)
			b = harness.AppendCommand(b, "PUBLISH", "soak."+strconv.Itoa(r.IntN(soakChannels)), payload)
			*n++
		}
		if err := c.Send(b); err != nil {
			s.t.Error(err)
			return false
		}
		for range batch {
			v, err := c.Next()
			// The ones that come and go may count, too.
			if got, ok := v.Int(); err != nil || !ok || got < soakSubscribers {
				s.t.Errorf("PUBLISH: %v %v", v, err)
				return false
			}
		}
		s.published.Add(batch)
		return true
	}
	begin := time.Now()
	sent := 0
	for {
		select {
		case <-until:
			return
		default:
		}
		if rate == 0 {
			if !send() {
				return
			}
			continue
		}
		due := int(time.Since(begin).Seconds() * rate)
		if sent >= due {
			timer := time.NewTimer(time.Duration(float64(batch) / rate * float64(time.Second)))
			select {
			case <-until:
			case <-timer.C:
			}
			timer.Stop()
			continue
		}
		if !send() {
			return
		}
		sent += batch
	}
}

// visit is a client that comes, listens to a message or two, and goes.
func (s *soak) visit(r *rand.Rand) {
	c, err := harness.Dial(s.p.addr)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.connections.Add(1)
	if v, err := c.Do("SUBSCRIBE", "soak."+strconv.Itoa(r.IntN(soakChannels))); err != nil || len(v.Elems) != 3 {
		s.t.Errorf("SUBSCRIBE: %v %v", v, err)
	}
	switch r.IntN(3) {
	case 0:
		c.Abort()
	case 1:
		_ = c.Command("QUIT")
		c.Close()
	default:
		c.Close()
	}
}

// fidget subscribes to and unsubscribes from names that nobody else has.
func (s *soak) fidget(c *harness.Conn, r *rand.Rand, names int) bool {
	var b []byte
	for range names {
		name := "fidget." + strconv.Itoa(r.IntN(1<<30))
		b = harness.AppendCommand(b, "SUBSCRIBE", name)
		b = harness.AppendCommand(b, "UNSUBSCRIBE", name)
	}
	if err := c.Send(b); err != nil {
		s.t.Error(err)
		return false
	}
	for range 2 * names {
		if v, err := c.Next(); err != nil || len(v.Elems) != 3 {
			s.t.Errorf("(UN)SUBSCRIBE: %v %v", v, err)
			return false
		}
	}
	s.subscriptions.Add(int64(names))
	return true
}

// A sample is what the process takes at one moment.
type sample struct {
	after    time.Duration
	resident int64
}

// slope is the growth of memory in bytes per minute, by least squares.
func slope(samples []sample) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, s := range samples {
		x, y := s.after.Minutes(), float64(s.resident)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if d := n*sxx - sx*sx; d > 0 {
		return (n*sxy - sx*sy) / d
	}
	return 0
}

// TestSoak lets clients come and go at half the rate that the machine can
// take, and watches memory, goroutines and descriptors. SOAK=30m sets for how
// long.
func TestSoak(t *testing.T) {
	aside(t)
	period := reliability.Period(t, "SOAK", 6*time.Second, 2*time.Minute)
	p := start(t, "", "--client-output-buffer-limit", "pubsub 0 0 0")
	s := &soak{t: t, p: p, done: make(chan struct{})}
	observer := p.dial()
	var stay sync.WaitGroup
	for range soakSubscribers {
		c := p.dial()
		words := []string{"SUBSCRIBE"}
		for i := range soakChannels {
			words = append(words, "soak."+strconv.Itoa(i))
		}
		if err := c.Command(words...); err != nil {
			t.Fatal(err)
		}
		for range words[1:] {
			if _, err := c.Next(); err != nil {
				t.Fatal(err)
			}
		}
		stay.Go(func() { s.subscriber(c) })
	}
	conns, sent := make([]*harness.Conn, soakPublishers), make([]int64, soakPublishers)
	publish := func(rate float64, until <-chan struct{}) *sync.WaitGroup {
		var all sync.WaitGroup
		for i := range conns {
			if conns[i] == nil {
				conns[i] = p.dial()
			}
			all.Go(func() { s.publisher(i, conns[i], &sent[i], rate/soakPublishers, until) })
		}
		return &all
	}
	// The peak, with the same clients.
	burst := make(chan struct{})
	begin := time.Now()
	timer := time.AfterFunc(period/20, func() { close(burst) })
	publish(0, burst).Wait()
	timer.Stop()
	peak := float64(s.published.Load()) / time.Since(begin).Seconds()
	goroutines, descriptors := info(t, observer, "broker_goroutines"), p.descriptors()

	begin = time.Now()
	running := publish(peak/2, s.done)
	for i := range uint64(2) {
		s.all.Go(func() {
			r := rand.New(rand.NewPCG(i, 11))
			s.every(2*time.Second/soakConnections, func() bool { s.visit(r); return true })
		})
	}
	fidgeter := p.dial()
	s.all.Go(func() {
		r := rand.New(rand.NewPCG(1, 12))
		s.every(time.Second/20, func() bool { return s.fidget(fidgeter, r, soakSubscriptions/20) })
	})
	var samples []sample
	s.all.Go(func() {
		s.every(max(period/200, 50*time.Millisecond), func() bool {
			samples = append(samples, sample{time.Since(begin), p.residentBytes()})
			return !t.Failed()
		})
	})
	timer = time.AfterFunc(period, func() { close(s.done) })
	defer timer.Stop()
	s.all.Wait()
	running.Wait()
	spent := time.Since(begin)

	for i := range conns {
		if v, err := conns[i].Do("PUBLISH", "soak.0", "end"); err != nil {
			t.Fatal(v, err)
		}
	}
	stay.Wait()
	fidgeter.Close()
	if lost := s.published.Load()*soakSubscribers - s.delivered.Load(); lost != 0 {
		t.Errorf("%d deliveries are missing", lost)
	}
	await(t, "the visitors' sessions to end", func() bool {
		return info(t, observer, "connected_clients") <= soakSubscribers+soakPublishers+1
	})
	// Goroutines that served them may end a moment later.
	const tolerance = 5
	var left int64
	await(t, "goroutines to end", func() bool {
		left = info(t, observer, "broker_goroutines")
		return left <= goroutines+tolerance
	})
	if now := p.descriptors(); now > descriptors+tolerance {
		t.Errorf("%d descriptors are open, %d were before", now, descriptors)
	}
	if n := info(t, observer, "pubsub_channels"); n != soakChannels {
		t.Errorf("%d channels are left, want %d", n, soakChannels)
	}
	if t.Failed() || len(samples) < 10 {
		t.Fatalf("%d samples", len(samples))
	}
	warm := samples[len(samples)/3:]
	growth := slope(warm)
	// A short run tells a leak of every connection or message, not more.
	if grown := warm[len(warm)-1].resident - warm[0].resident; grown > warm[0].resident {
		t.Errorf("memory grew from %d to %d KiB after the warm-up", warm[0].resident>>10, warm[len(warm)-1].resident>>10)
	}
	if spent > 10*time.Minute && growth > 1<<20 {
		t.Errorf("memory grows by %.0f KiB per minute", growth/1024)
	}
	reliability.Note(t, "soak", "%s at half of %.0f deliveries/s, %.0f connections/s and %.0f subscriptions/s coming and going: %d deliveries, 0 lost; memory %d to %d KiB, %+.0f KiB per minute; goroutines %+d, descriptors %+d",
		spent.Round(time.Second), peak*soakSubscribers, float64(s.connections.Load())/spent.Seconds(), float64(s.subscriptions.Load())/spent.Seconds(),
		s.delivered.Load(), warm[0].resident>>10, warm[len(warm)-1].resident>>10, growth/1024, left-goroutines, p.descriptors()-descriptors)
}

// TestSlope_SeesGrowth checks the line that the soak is judged by.
func TestSlope_SeesGrowth(t *testing.T) {
	var flat, rising []sample
	for i := range 60 {
		at := time.Duration(i) * time.Second
		flat = append(flat, sample{at, 100 << 20})
		rising = append(rising, sample{at, 100<<20 + int64(i)<<20/30})
	}
	if g := slope(flat); g != 0 {
		t.Errorf("no growth is seen as %.0f bytes per minute", g)
	}
	if g := slope(rising); g < 1.9*(1<<20) || g > 2.1*(1<<20) {
		t.Errorf("growth of 2 MiB per minute is seen as %.0f bytes", g)
	}
}
