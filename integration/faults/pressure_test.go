package faults

import (
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// A beat is one subscriber and one publisher that exchange messages one by one
// until stop: a witness to what the others notice.
type beat struct {
	stop  chan struct{}
	done  chan struct{}
	trips []time.Duration
	err   error
}

// startBeat begins to exchange messages on a channel of its own.
func startBeat(t *testing.T, addr, channel string) *beat {
	t.Helper()
	s, err := harness.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	p, err := harness.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	subscribe(t, s, channel)
	b := &beat{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(b.done)
		defer s.Close()
		defer p.Close()
		for n := 0; ; n++ {
			select {
			case <-b.stop:
				return
			default:
			}
			begin := time.Now()
			payload := strconv.Itoa(n)
			if v, err := p.Do("PUBLISH", channel, payload); err != nil || v.Text != "1" {
				b.err = fmt.Errorf("PUBLISH %s: %v %w", payload, v, err)
				return
			}
			if v, err := s.Next(); err != nil || len(v.Elems) != 3 || v.Elems[2].Text != payload {
				b.err = fmt.Errorf("message %s: %v %w", payload, v, err)
				return
			}
			b.trips = append(b.trips, time.Since(begin))
		}
	}()
	return b
}

// end stops the exchange and returns how long the messages took, sorted.
func (b *beat) end(t *testing.T) []time.Duration {
	t.Helper()
	close(b.stop)
	<-b.done
	if b.err != nil {
		t.Errorf("somebody who did nothing wrong: %v", b.err)
	}
	if len(b.trips) == 0 {
		t.Fatal("no message was exchanged")
	}
	slices.Sort(b.trips)
	return b.trips
}

// at returns a percentile of sorted times.
func at(sorted []time.Duration, percent float64) time.Duration {
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*percent/100))]
}

// TestDescriptors_Exhausted: with 256 descriptors and 1,000 clients the program
// goes on for those who are in, uses no processor time for those who are not,
// and lets the next ones in when there is room.
func TestDescriptors_Exhausted(t *testing.T) {
	aside(t)
	const limit, dials = 256, 1000
	p := startAs(t, "", "prlimit --nofile="+strconv.Itoa(limit)+" "+binary(t))
	b := startBeat(t, p.addr, "before")
	var held []*harness.Conn
	refused := 0
	for range dials {
		c, err := harness.Dial(p.addr)
		if err != nil {
			refused++
			continue
		}
		defer c.Close()
		held = append(held, c)
	}
	// The last that gets through tells that all before it were dealt with.
	in, told := 0, 0
	for _, c := range held {
		v, err := c.Do("PING")
		switch {
		case err == nil && v.Text == "PONG":
			in++
		case err == nil && strings.Contains(v.Text, "max number of clients"):
			told++
		default:
			refused++
		}
	}
	if in < limit/4 || in >= limit || p.descriptors() > limit {
		t.Errorf("%d clients are in, with %d descriptors of %d", in, p.descriptors(), limit)
	}
	trips := b.end(t) // what it costs is measured without it
	used, begin := p.processorTime(), time.Now()
	quiet := harness.Patience / 40
	timer := time.NewTimer(quiet)
	<-timer.C
	share := float64(p.processorTime()-used) / float64(time.Since(begin))
	begin = time.Now()
	for _, c := range held {
		c.Close()
	}
	await(t, "room again", func() bool {
		c, err := harness.Dial(p.addr)
		if err != nil {
			return false
		}
		defer c.Close()
		v, err := c.Do("PING")
		return err == nil && v.Text == "PONG"
	})
	reliability.Note(t, "descriptors", "%d dials to %d descriptors: %d in, %d told so, %d closed; %d messages exchanged meanwhile, 0 lost; %.0f %% of a core while full; open again after %d ms",
		dials, limit, in, told, refused, len(trips), 100*share, time.Since(begin).Milliseconds())
}

// TestSlowSubscribers_HarmNobody: a fifth of the subscribers stop reading.
// They are closed, the memory they take is bounded by their limit, and the
// others get everything.
func TestSlowSubscribers_HarmNobody(t *testing.T) {
	clients := reliability.Size(100, 1000)
	slow := clients / 5
	const limitBytes, payloadBytes, paced = 1 << 20, 1 << 10, 64
	p := start(t, "", "--client-output-buffer-limit", "pubsub "+strconv.Itoa(limitBytes)+" 0 0")
	publisher := p.dial()
	var all sync.WaitGroup
	total := 0
	var mu sync.Mutex
	ended := map[int]int{}
	progress := make([]chan struct{}, clients-slow)
	for i := range clients - slow {
		c := p.dial()
		subscribe(t, c, "all")
		progress[i] = make(chan struct{}, 1)
		all.Go(func() {
			n := 0
			for {
				v, err := c.Next()
				if err != nil || len(v.Elems) != 3 {
					break
				}
				if v.Elems[2].Text == "end" {
					break
				}
				if n++; n%paced == 0 {
					progress[i] <- struct{}{}
				}
			}
			mu.Lock()
			ended[i] = n
			mu.Unlock()
			close(progress[i])
		})
	}
	// A small window: what the kernel would hold for them is not the test's.
	for range slow {
		c, err := harness.DialWindow(p.addr, 4096)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		subscribe(t, c, "all")
	}
	before := p.residentBytes()
	payload := strings.Repeat("m", payloadBytes)
	w := startWitness(t, p.addr, "")
	var most int64
	receivers := int64(clients)
	// In step with those who read, so that they are healthy by definition.
	for receivers > int64(clients-slow) && total < 64<<10 {
		var b []byte
		for range paced {
			b = harness.AppendCommand(b, "PUBLISH", "all", payload)
		}
		if err := publisher.Send(b); err != nil {
			t.Fatal(err)
		}
		for range paced {
			v, err := publisher.Next()
			if err != nil {
				t.Fatal(err)
			}
			receivers, _ = v.Int()
		}
		total += paced
		for i := range progress {
			if _, open := <-progress[i]; !open {
				t.Fatalf("a subscriber that reads was closed after %d messages", ended[i])
			}
		}
		if total%1024 == 0 {
			most = max(most, p.residentBytes()-before)
		}
	}
	most = max(most, p.residentBytes()-before)
	if v, err := publisher.Do("PUBLISH", "all", "end"); err != nil || v.Text != strconv.Itoa(clients-slow) {
		t.Errorf("the last message reached %v, want %d: %v", v, clients-slow, err)
	}
	all.Wait()
	for i, n := range ended {
		if n != total {
			t.Errorf("subscriber %d, which reads, got %d of %d messages", i, n, total)
		}
	}
	beside := w.end(t)
	if limit := int64(slow)*limitBytes + 64<<20; most > limit {
		t.Errorf("memory grew by %d MiB; %d clients with a limit of 1 MiB each leave %d", most>>20, slow, limit>>20)
	}
	reliability.Note(t, "slow", "%d of %d stop reading: closed at 1 MiB each after %d messages of 1 KiB, memory grew by %d MiB; the others lost 0; %v",
		slow, clients, total, most>>20, beside)
}

var totMem = regexp.MustCompile(`name=(\d+) .* tot-mem=(\d+)`)

// TestEviction_TakesTheLargest: clients that together hold more than
// maxmemory-clients lose the largest of them, and nobody else.
func TestEviction_TakesTheLargest(t *testing.T) {
	const limitBytes = 64 << 20
	// No fewer under the race detector: the broker runs without it.
	clients := 100
	if reliability.Full() {
		clients = 500
	}
	step := (1 << 20) * 500 / clients / 250 // so that they reach four times the limit
	// Over a Unix socket: a TCP socket takes megabytes before the broker has to
	// hold anything.
	socket := filepath.Join(t.TempDir(), "s")
	p := start(t, "", "--maxmemory-clients", "64mb", "--client-output-buffer-limit", "pubsub 0 0 0", "--unixsocket", socket)
	b := startBeat(t, p.addr, "witness")
	publisher, observer := p.dial(), p.dial()
	for _, c := range []*harness.Conn{publisher, observer} {
		if v, err := c.Do("CLIENT", "NO-EVICT", "on"); err != nil || v.Text != "OK" {
			t.Fatal(v, err)
		}
	}
	var owed int64
	for i := range clients {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		// It never reads, not even the answers.
		if _, err := fmt.Fprintf(c, "CLIENT SETNAME %d\r\nSUBSCRIBE own-%d\r\n", i, i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range clients {
		await(t, "a client to subscribe", func() bool {
			v, err := observer.Do("PUBSUB", "NUMSUB", "own-"+strconv.Itoa(i))
			if err != nil || len(v.Elems) != 2 {
				t.Fatal(v, err)
			}
			return v.Elems[1].Text == "1"
		})
	}
	// The i-th is owed i steps more than the first; small ones first, so that
	// who goes over the limit is the largest so far.
	const piece = 64 << 10
	payload := strings.Repeat("p", piece)
	for i := range clients {
		size := 1<<20 + i*step
		for sent := 0; sent < size; sent += piece {
			if _, err := publisher.Do("PUBLISH", "own-"+strconv.Itoa(i), payload); err != nil {
				t.Fatal(err)
			}
			owed += piece
		}
	}
	var sum, evicted int64
	var left []int
	// The last eviction may still be under way.
	await(t, "the sum to be below the limit, and counted", func() bool {
		v, err := observer.Do("CLIENT", "LIST")
		if err != nil {
			t.Fatal(err)
		}
		sum, left = 0, left[:0]
		for _, m := range totMem.FindAllStringSubmatch(v.Text, -1) {
			i, _ := strconv.Atoi(m[1])
			n, _ := strconv.ParseInt(m[2], 10, 64)
			left = append(left, i)
			sum += n
		}
		if sum > limitBytes+limitBytes/10 {
			return false
		}
		// Unless another is under way, INFO counts exactly those who are gone.
		evicted = info(t, observer, "evicted_clients")
		return evicted == int64(clients-len(left))
	})
	trips := b.end(t)
	if owed < 2*limitBytes || len(left) == clients || len(left) < 10 {
		t.Fatalf("%d of %d clients are left of %d MiB: nothing was tested", len(left), clients, owed>>20)
	}
	slices.Sort(left)
	reliability.Note(t, "eviction", "%d clients are owed %d MiB, limit 64 MiB: %d evicted, %.1f MiB held in the end; a witness exchanged %d messages",
		clients, owed>>20, evicted, float64(sum)/(1<<20), len(trips))
	// Who is left is smaller than who is gone, but for what the kernel took, for
	// the last of all, and for what was published while an eviction was under way.
	most := len(left) * 9 / 10
	if slack := (256 << 10) / step; left[most-1] > len(left)+slack {
		t.Errorf("left are %v of %d, and not the smallest", left, clients)
	}
}
