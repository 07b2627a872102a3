package ordering

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"broker/integration/harness"
)

// channelNames are what the publishers of a test publish to.
var channelNames = []string{"c.0", "c.1", "c.2", "c.3"}

// TestInvariant_FIFO: messages of one publisher connection reach a subscriber
// in publish order, across all channels, and none is missing.
func TestInvariant_FIFO(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		const publishers = 3
		messages := scaled(1500)
		all := newCrowd(t)
		for i := range 6 {
			var c *harness.Conn
			switch i % 3 {
			case 0:
				c = subscribe(t, target, "SUBSCRIBE", channelNames...)
			case 1:
				c = subscribe(t, target, "PSUBSCRIBE", "c.*")
			case 2:
				// Each channel by one way only, so that each message comes once.
				c = subscribe(t, target, "SUBSCRIBE", channelNames[:2]...)
				if err := c.Command("PSUBSCRIBE", "c.[23]"); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Next(); err != nil {
					t.Fatal(err)
				}
			}
			all.run(func() error {
				var next [publishers]int
				for range publishers * messages {
					d, err := nextMessage(c)
					if err != nil {
						return err
					}
					from, number, _ := strings.Cut(d.payload, ":")
					p, _ := strconv.Atoi(from)
					if n, _ := strconv.Atoi(number); n != next[p] {
						return fmt.Errorf("subscriber %d: message %d of publisher %d came when %d was next", i, n, p, next[p])
					}
					next[p]++
				}
				return nil
			})
		}
		for p := range publishers {
			c := target.Dial(t)
			all.run(func() error {
				r := rand.New(rand.NewPCG(uint64(p), 1))
				for n := 0; n < messages && !all.over(); {
					var batch [][2]string
					for range min(1+r.IntN(40), messages-n) {
						batch = append(batch, [2]string{channelNames[r.IntN(len(channelNames))], fmt.Sprintf("%d:%d", p, n)})
						n++
					}
					if _, err := publishAll(c, batch); err != nil {
						return err
					}
				}
				return nil
			})
		}
		all.wait()
	})
}

// TestInvariant_TotalOrder: all subscribers of one channel see its messages in
// the same order, whoever published them.
func TestInvariant_TotalOrder(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		const publishers, subscribers = 6, 6
		messages := scaled(1200)
		all := newCrowd(t)
		orders := make([]map[string][]string, subscribers)
		for i := range subscribers {
			c := subscribe(t, target, "SUBSCRIBE", channelNames[:2]...)
			all.run(func() error {
				order := map[string][]string{}
				for range publishers * messages {
					d, err := nextMessage(c)
					if err != nil {
						return err
					}
					order[d.channel] = append(order[d.channel], d.payload)
				}
				orders[i] = order
				return nil
			})
		}
		for p := range publishers {
			c := target.Dial(t)
			all.run(func() error {
				r := rand.New(rand.NewPCG(uint64(p), 2))
				for n := 0; n < messages && !all.over(); {
					var batch [][2]string
					for range min(1+r.IntN(2), messages-n) {
						batch = append(batch, [2]string{channelNames[r.IntN(2)], fmt.Sprintf("%d:%d", p, n)})
						n++
					}
					if _, err := publishAll(c, batch); err != nil {
						return err
					}
				}
				return nil
			})
		}
		all.wait()
		if t.Failed() {
			return
		}
		for i := range orders {
			for _, channel := range channelNames[:2] {
				if a, b := orders[0][channel], orders[i][channel]; !slices.Equal(a, b) {
					at := 0
					for at < min(len(a), len(b)) && a[at] == b[at] {
						at++
					}
					t.Fatalf("subscribers 0 and %d of %s: message %d differs, %v and %v", i, channel, at,
						a[at:min(len(a), at+4)], b[at:min(len(b), at+4)])
				}
			}
		}
	})
}

// TestInvariant_Causal: once PUBLISH has answered, no later PUBLISH of anyone
// overtakes its message. The publishers pass a turn around: each publishes
// only after the one before was answered, so every subscriber must see one
// sequence, across channels.
func TestInvariant_Causal(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		const publishers, subscribers = 5, 6
		messages := scaled(600)
		done := make(chan struct{})
		others := noise(t, target, done)
		all := newCrowd(t)
		for i := range subscribers {
			command, names := "SUBSCRIBE", channelNames
			if i%2 == 1 {
				command, names = "PSUBSCRIBE", []string{"c.*"}
			}
			c := subscribe(t, target, command, names...)
			all.run(func() error {
				for n := range messages {
					d, err := nextMessage(c)
					if err != nil {
						return err
					}
					if d.payload != strconv.Itoa(n) {
						return fmt.Errorf("subscriber %d: message %s came when %d was next", i, d.payload, n)
					}
				}
				return nil
			})
		}
		turns := make([]chan int, publishers)
		for p := range turns {
			turns[p] = make(chan int, 1)
		}
		for p := range publishers {
			c := target.Dial(t)
			all.run(func() error {
				for {
					var n int
					select {
					case n = <-turns[p]:
					case <-all.failed:
						return nil
					case <-patience():
						return fmt.Errorf("publisher %d: its turn never came", p)
					}
					if n < messages {
						channel := channelNames[n*7%len(channelNames)]
						if counts, err := publishAll(c, [][2]string{{channel, strconv.Itoa(n)}}); err != nil {
							return err
						} else if counts[0] != subscribers {
							return fmt.Errorf("message %d had %d receivers, want %d", n, counts[0], subscribers)
						}
					}
					if n < messages+publishers-1 {
						turns[(p+1)%publishers] <- n + 1
					}
					if n >= messages {
						return nil
					}
				}
			})
		}
		turns[0] <- 0
		all.wait()
		close(done)
		others.wait()
	})
}

// TestInvariant_Causal_BeforeLaterReplies: once PUBLISH has answered, a
// subscriber that asks something gets the message before the answer.
func TestInvariant_Causal_BeforeLaterReplies(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		done := make(chan struct{})
		others := noise(t, target, done)
		all := newCrowd(t)
		for i := range 5 {
			channel := fmt.Sprintf("own.%d", i)
			publisher, subscriber := target.Dial(t), subscribe(t, target, "SUBSCRIBE", channel)
			all.run(func() error {
				for n := 0; n < scaled(300) && !all.over(); n++ {
					payload := strconv.Itoa(n)
					if counts, err := publishAll(publisher, [][2]string{{channel, payload}}); err != nil || counts[0] != 1 {
						return fmt.Errorf("PUBLISH: %v %v", counts, err)
					}
					if err := subscriber.Command("PING", payload); err != nil {
						return err
					}
					if d, err := nextMessage(subscriber); err != nil || d.payload != payload {
						return fmt.Errorf("message %d of %s was not the next thing: %v %w", n, channel, d, err)
					}
					if v, err := subscriber.Next(); err != nil || len(v.Elems) != 2 || v.Elems[1].Text != payload {
						return fmt.Errorf("PING: %v %v", v, err)
					}
				}
				return nil
			})
		}
		all.wait()
		close(done)
		others.wait()
	})
}
