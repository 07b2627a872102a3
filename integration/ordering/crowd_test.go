package ordering

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"broker/integration/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onEach runs a test against redis-server and against the broker with 1, 2 and
// 8 shards and every I/O driver. flags are given to each.
func onEach(t *testing.T, test func(*testing.T, *harness.Target), flags ...string) {
	t.Run("redis-server", func(t *testing.T) { test(t, harness.StartRedis(t, flags...)) })
	for _, v := range harness.Variants(1, 2, 8) {
		t.Run(v.String(), func(t *testing.T) { test(t, v.Start(t, flags...)) })
	}
}

// scaled lowers a number of repetitions where the race detector makes each of
// them dear.
func scaled(n int) int {
	if harness.RaceDetector {
		return n / 4
	}
	return n
}

// A crowd runs clients side by side. The first that fails ends the others at
// their next step.
type crowd struct {
	t  *testing.T
	wg sync.WaitGroup

	once   sync.Once
	failed chan struct{}
}

func newCrowd(t *testing.T) *crowd { return &crowd{t: t, failed: make(chan struct{})} }

// run starts one client.
func (c *crowd) run(client func() error) {
	c.wg.Go(func() {
		if err := client(); err != nil {
			c.t.Error(err)
			c.once.Do(func() { close(c.failed) })
		}
	})
}

// over reports whether some client failed.
func (c *crowd) over() bool {
	select {
	case <-c.failed:
		return true
	default:
		return false
	}
}

// wait waits for all clients.
func (c *crowd) wait() { c.wg.Wait() }

// subscribe subscribes a new connection and takes the acks.
func subscribe(t *testing.T, target *harness.Target, command string, names ...string) *harness.Conn {
	t.Helper()
	c := target.Dial(t)
	if err := c.Command(append([]string{command}, names...)...); err != nil {
		t.Fatal(err)
	}
	for range names {
		if _, err := c.Next(); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// publishAll sends PUBLISHes in one write and takes the replies.
func publishAll(c *harness.Conn, messages [][2]string) ([]int64, error) {
	var b []byte
	for _, m := range messages {
		b = harness.AppendCommand(b, "PUBLISH", m[0], m[1])
	}
	if err := c.Send(b); err != nil {
		return nil, err
	}
	counts := make([]int64, 0, len(messages))
	for range messages {
		v, err := c.Next()
		if err != nil {
			return nil, err
		}
		n, ok := v.Int()
		if !ok {
			return nil, fmt.Errorf("PUBLISH was answered %v", v)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// A delivery is a message as a subscriber received it.
type delivery struct{ channel, payload string }

// nextMessage takes the next value, which must be a message.
func nextMessage(c *harness.Conn) (delivery, error) {
	v, err := c.Next()
	if err != nil {
		return delivery{}, err
	}
	d, ok := asDelivery(v)
	if !ok {
		return d, fmt.Errorf("received %v, want a message", v)
	}
	return d, nil
}

// asDelivery reads a message of any kind.
func asDelivery(v harness.Value) (d delivery, ok bool) {
	kind, rest, ok := v.Message()
	switch {
	case !ok:
	case kind == "message" || kind == "smessage":
		return delivery{rest[0].Text, rest[1].Text}, true
	case kind == "pmessage":
		return delivery{rest[1].Text, rest[2].Text}, true
	}
	return delivery{}, false
}

// noise makes some of the loops write long replies until done is closed: what
// such a loop does in the wrong order then lies far apart, while the others are
// quick to show it.
func noise(t *testing.T, target *harness.Target, done <-chan struct{}) *crowd {
	t.Helper()
	const requests, payload = 24, 8 << 10
	one := harness.AppendCommand(nil, "ECHO", strings.Repeat("n", payload))
	replies := requests * (payload + len("$8192\r\n\r\n"))
	all := newCrowd(t)
	for range 3 {
		c := target.Dial(t)
		all.run(func() error {
			for {
				select {
				case <-done:
					return nil
				default:
				}
				if err := c.Send(bytes.Repeat(one, requests)); err != nil {
					return err
				}
				if !c.Fill(replies, time.Now().Add(harness.Patience)) {
					return fmt.Errorf("%d of %d bytes of replies came", len(c.Received()), replies)
				}
				c.Discard(replies)
			}
		})
	}
	return all
}

// patience is a channel that fires when a test has waited too long for
// another client.
func patience() <-chan time.Time { return time.After(harness.Patience) }
