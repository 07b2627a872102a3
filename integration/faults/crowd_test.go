package faults

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// raiseDescriptors lets this process open as many descriptors as it may, and
// returns how many that is.
func raiseDescriptors(t *testing.T) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int(min(limit.Max, 1<<20))
}

// TestArrivals_AllAtOnce: clients by the thousand connect at the same time,
// and each is served, while those who were there before go on.
func TestArrivals_AllAtOnce(t *testing.T) {
	// Room for the test's own files, and for the broker's.
	clients := min(reliability.Size(1_500, 15_000), raiseDescriptors(t)-500)
	p := start(t, "", "--maxclients", "20000")
	b, w := startBeat(t, p.addr, "before"), startWitness(t, p.addr, "")
	conns := make([]*harness.Conn, clients)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range conns {
		all.Go(func() {
			c, err := harness.Dial(p.addr)
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			conns[i] = c
			if v, err := c.Do("PING"); err != nil || v.Text != "PONG" {
				t.Errorf("client %d: %v %v", i, v, err)
			}
		})
	}
	all.Wait()
	spent := time.Since(begin)
	b.end(t)
	beside := w.end(t)
	memory := p.residentBytes()
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
	observer := p.dial()
	await(t, "all to be gone", func() bool { return info(t, observer, "connected_clients") == 1 })
	reliability.Note(t, "arrivals", "%d clients at once: all served after %.1f s, %d MiB resident; %v",
		clients, spent.Seconds(), memory>>20, beside)
}

// TestTeardown_OfManySubscriptions: a client with very many subscriptions
// vanishes; what others wait while it is torn down is a part of the time that
// takes, because it is done in slices.
func TestTeardown_OfManySubscriptions(t *testing.T) {
	subscriptions := reliability.Size(100_000, 1_000_000)
	p := start(t, "", "--max-subscriptions-per-client", "0")
	big, observer := p.dial(), p.dial()
	const perCommand = 1000
	for from := 0; from < subscriptions; from += perCommand {
		words := []string{"SUBSCRIBE"}
		for i := range min(perCommand, subscriptions-from) {
			words = append(words, "channel:"+strconv.Itoa(from+i))
		}
		if err := big.Command(words...); err != nil {
			t.Fatal(err)
		}
		for range words[1:] {
			if _, err := big.Next(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := info(t, observer, "pubsub_channels"); n != int64(subscriptions) {
		t.Fatalf("%d channels, want %d", n, subscriptions)
	}
	// The same for as long as nothing happens, to compare with.
	quiet := startWitness(t, p.addr, "")
	calm := time.NewTimer(time.Second)
	<-calm.C
	before := quiet.end(t)
	b, w := startBeat(t, p.addr, "during"), startWitness(t, p.addr, "")
	begin := time.Now()
	big.Abort()
	await(t, "the subscriptions to go", func() bool { return info(t, observer, "pubsub_channels") <= 1 })
	spent := time.Since(begin)
	b.end(t)
	during := w.end(t)
	if worst := during.at100; worst > spent/2 && worst > 2*before.at100 {
		t.Errorf("somebody else waited %v of the %v that the teardown took", worst, spent)
	}
	reliability.Note(t, "teardown", "%d subscriptions gone after %.0f ms; %v, and %.1f ms before",
		subscriptions, float64(spent.Microseconds())/1e3, during, float64(before.at100.Microseconds())/1e3)
}

// TestRecycledDescriptors_NeverCross: clients come and go as fast as they can,
// so that descriptors and session slots are used again at once, while their
// channels are published to. Nobody may see a byte that was meant for who was
// there before.
func TestRecycledDescriptors_NeverCross(t *testing.T) {
	for _, v := range harness.Variants(2) {
		t.Run(v.String(), func(t *testing.T) {
			rounds := reliability.Size(1_200, 40_000)
			target := v.Start(t)
			// The names that somebody holds or has just held.
			const slots = 8
			var names [slots]atomic.Pointer[string]
			done := make(chan struct{})
			var publishers, clients sync.WaitGroup
			var published atomic.Int64
			for range 2 {
				c := target.Dial(t)
				publishers.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
						}
						var b []byte
						n := 0
						for i := range names {
							if name := names[i].Load(); name != nil {
								b = harness.AppendCommand(b, "PUBLISH", *name, "for "+*name)
								n++
							}
						}
						if n == 0 {
							runtime.Gosched()
							continue
						}
						if err := c.Send(b); err != nil {
							t.Error(err)
							return
						}
						for range n {
							v, err := c.Next()
							if err != nil {
								t.Error(err)
								return
							}
							if v.Text != "0" {
								published.Add(1)
							}
						}
					}
				})
			}
			var received atomic.Int64
			for i := range slots {
				clients.Go(func() {
					r := rand.New(rand.NewPCG(uint64(i), 9))
					for n := range rounds / slots {
						name := fmt.Sprintf("slot-%d-%d", i, n)
						c, err := harness.Dial(target.Addr)
						if err != nil {
							t.Error(err)
							return
						}
						if n%4 == 3 {
							// One that holds nothing must hear nothing.
							got, err := c.Barrier(nil)
							if err != nil || len(got) > 0 {
								t.Errorf("a client without subscriptions received %s %v", harness.Show(got), err)
							}
							c.Abort()
							continue
						}
						names[i].Store(&name)
						if err := c.Command("SUBSCRIBE", name); err != nil {
							t.Error(err)
						}
						for messages := r.IntN(4); messages >= 0; messages-- {
							v, err := c.Next()
							if err != nil || len(v.Elems) != 3 || v.Elems[1].Text != name || v.Elems[2].Text != "for "+name && v.Elems[2].Text != "1" {
								t.Errorf("the client of %s received %v %v", name, v, err)
								break
							}
							received.Add(1)
						}
						// What is in its buffer was meant for it, too.
						for _, other := range strings.Split(string(c.Received()), "slot-")[1:] {
							if !strings.HasPrefix("slot-"+other, name+"\r\n") {
								t.Errorf("the client of %s holds %s", name, harness.Show(c.Received()))
								break
							}
						}
						if r.IntN(2) == 0 {
							c.Abort()
						} else {
							c.Close()
						}
					}
				})
			}
			clients.Wait()
			close(done)
			publishers.Wait()
			if received.Load() < int64(rounds) || published.Load() == 0 {
				t.Errorf("%d messages for %d clients: nothing was tested", received.Load(), rounds)
			}
			reliability.Note(t, "recycling", "%d clients in turn on %d places, %d messages to them: none to another", rounds, slots, published.Load())
		})
	}
}
