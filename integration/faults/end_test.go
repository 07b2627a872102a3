package faults

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// A flow is a publisher that sends numbered messages until it is cut off.
type flow struct {
	counted map[string]int64 // by payload: what PUBLISH answered
}

// run publishes in small pipelines until the connection ends. acknowledged
// counts the replies of all flows.
func (f *flow) run(c *harness.Conn, name string, acknowledged *atomic.Int64) {
	f.counted = map[string]int64{}
	const batch = 16
	for n := 0; ; n += batch {
		var b []byte
		for i := range batch {
			b = harness.AppendCommand(b, "PUBLISH", "flow", name+"-"+strconv.Itoa(n+i))
		}
		// A broker that stops may have answered some of them.
		sent := c.Send(b)
		for i := range batch {
			v, err := c.Next()
			if err != nil {
				return
			}
			count, ok := v.Int()
			if !ok {
				return
			}
			f.counted[name+"-"+strconv.Itoa(n+i)] = count
			acknowledged.Add(1)
		}
		if sent != nil {
			return
		}
	}
}

// lost returns an error unless every message that was counted for all
// subscribers arrived at each of them once.
func (f *flow) lost(arrived []map[string]int) error {
	for payload, n := range f.counted {
		if n != int64(len(arrived)) {
			return fmt.Errorf("message %s was counted for %d", payload, n)
		}
		for i := range arrived {
			if arrived[i][payload] != 1 {
				return fmt.Errorf("message %s, which PUBLISH counted, arrived %d times at subscriber %d", payload, arrived[i][payload], i)
			}
		}
	}
	return nil
}

func TestFlow_SeesLoss(t *testing.T) {
	f := flow{counted: map[string]int64{"a": 2, "b": 2}}
	for _, tc := range []struct {
		name    string
		arrived []map[string]int
		good    bool
	}{
		{"all", []map[string]int{{"a": 1, "b": 1, "not answered": 1}, {"a": 1, "b": 1}}, true},
		{"one missing", []map[string]int{{"a": 1, "b": 1}, {"a": 1}}, false},
		{"one twice", []map[string]int{{"a": 1, "b": 2}, {"a": 1, "b": 1}}, false},
		{"counted for another number", []map[string]int{{"a": 1, "b": 1}}, false},
	} {
		if err := f.lost(tc.arrived); (err == nil) != tc.good {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestTermination_LosesNothingAcknowledged ends the program under load, over
// and over: every message that PUBLISH has counted n receivers for reached
// them.
func TestTermination_LosesNothingAcknowledged(t *testing.T) {
	aside(t)
	const subscribers, publishers = 4, 2
	cycles := reliability.Size(6, 200)
	var messages int64
	var slowest time.Duration
	for cycle := range cycles {
		io := []string{"epoll", "net"}[cycle%2]
		p := start(t, "", "--shards", strconv.Itoa(1+cycle%3), "--io", io)
		var all sync.WaitGroup
		var acknowledged atomic.Int64
		arrived := make([]map[string]int, subscribers)
		for i := range arrived {
			c := p.dial()
			subscribe(t, c, "flow")
			all.Go(func() {
				defer c.Close() // as clients do who see the end
				arrived[i] = map[string]int{}
				for {
					v, err := c.Next()
					if err != nil {
						return
					}
					if kind, rest, ok := v.Message(); ok && kind == "message" {
						arrived[i][rest[1].Text]++
					}
				}
			})
		}
		flows := make([]flow, publishers)
		for i := range flows {
			c := p.dial()
			all.Go(func() {
				defer c.Close()
				flows[i].run(c, strconv.Itoa(i), &acknowledged)
			})
		}
		// Another moment in each cycle.
		await(t, "traffic", func() bool { return acknowledged.Load() > int64(200+cycle*37%1000) })
		begin := time.Now()
		p.signal(syscall.SIGTERM)
		if status := p.exit(); status != 0 {
			t.Errorf("cycle %d: exit status %d", cycle, status)
		}
		slowest = max(slowest, time.Since(begin))
		all.Wait()
		for _, f := range flows {
			messages += int64(len(f.counted))
			if err := f.lost(arrived); err != nil {
				t.Fatalf("cycle %d, %s: %v", cycle, io, err)
			}
		}
	}
	reliability.Note(t, "drain", "%d cycles, %d counted messages to %d subscribers each: 0 lost, exit status 0, at most %d ms to the end",
		cycles, messages, subscribers, slowest.Milliseconds())
}

// TestKill_ClientsSubscribeAgain kills the program and starts it again at its
// address: a client library that reconnects finds everything as it was.
func TestKill_ClientsSubscribeAgain(t *testing.T) {
	aside(t)
	cycles := reliability.Size(2, 50)
	p := start(t, "")
	rdb := redis.NewClient(&redis.Options{
		Addr: p.addr, MaxRetries: 20, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 50 * time.Millisecond,
	})
	defer rdb.Close()
	ctx := context.Background()
	sub := rdb.Subscribe(ctx, "news")
	defer sub.Close()
	if err := sub.PSubscribe(ctx, "w*"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := sub.Receive(ctx); err != nil {
			t.Fatal(err)
		}
	}
	messages := sub.Channel()
	var open, again time.Duration
	for cycle := range cycles {
		p.signal(syscall.SIGKILL)
		p.exit()
		begin := time.Now()
		p = start(t, p.addr)
		open = max(open, time.Since(begin))
		publisher := p.dial()
		for _, channel := range []string{"news", "weather"} {
			payload := fmt.Sprintf("%s %d", channel, cycle)
			await(t, "the client to subscribe again", func() bool {
				v, err := publisher.Do("PUBLISH", channel, payload)
				if err != nil {
					t.Fatal(err)
				}
				n, _ := v.Int()
				return n == 1
			})
			select {
			case m := <-messages:
				if m.Channel != channel || m.Payload != payload {
					t.Fatalf("cycle %d: received %v", cycle, m)
				}
			case <-time.After(harness.Patience):
				t.Fatalf("cycle %d: %s never came", cycle, payload)
			}
		}
		again = max(again, time.Since(begin))
	}
	reliability.Note(t, "restart", "%d cycles: go-redis back every time, port open after at most %d ms, messages after at most %.1f s",
		cycles, open.Milliseconds(), again.Seconds())
}
