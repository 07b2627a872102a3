package ordering

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"broker/integration/harness"
)

// flood publishes to channels, and to shard channels of the same names, until
// done is closed; then it returns.
func flood(c *harness.Conn, channels []string, done <-chan struct{}, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 3))
	for n := 0; ; {
		select {
		case <-done:
			return nil
		default:
		}
		var b []byte
		size := 1 + r.IntN(100)
		for range size {
			command := "PUBLISH"
			if r.IntN(3) == 0 {
				command = "SPUBLISH"
			}
			b = harness.AppendCommand(b, command, channels[r.IntN(len(channels))], strconv.Itoa(n))
			n++
		}
		if err := c.Send(b); err != nil {
			return err
		}
		for range size {
			if v, err := c.Next(); err != nil {
				return err
			} else if v.Type != ':' {
				return fmt.Errorf("PUBLISH was answered %v", v)
			}
		}
	}
}

// kinds are the three kinds of subscription: how one is made and ended, and
// what its messages are called.
var kinds = []struct{ subscribe, unsubscribe, message string }{
	{"SUBSCRIBE", "UNSUBSCRIBE", "message"},
	{"PSUBSCRIBE", "PUNSUBSCRIBE", "pmessage"},
	{"SSUBSCRIBE", "SUNSUBSCRIBE", "smessage"},
}

// TestInvariant_AckFirst: no message of a channel precedes its subscribe ack.
// Clients subscribe, in one command of several names, to what is being
// published to all the time.
func TestInvariant_AckFirst(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		subscribers, done := newCrowd(t), make(chan struct{})
		for i := range 6 {
			c := target.Dial(t)
			subscribers.run(func() error {
				k := kinds[i%len(kinds)]
				for round := 0; round < scaled(120) && !subscribers.over(); round++ {
					if err := c.Command(append([]string{k.subscribe}, channelNames...)...); err != nil {
						return err
					}
					acked := 0
					for acked < len(channelNames) {
						v, err := c.Next()
						if err != nil {
							return err
						}
						kind, rest, ok := v.Message()
						switch {
						case !ok:
							return fmt.Errorf("client %d: received %v", i, v)
						case strings.HasSuffix(kind, "subscribe"):
							if want := channelNames[acked]; rest[0].Text != want {
								return fmt.Errorf("client %d: ack of %s came when %s was next", i, rest[0].Text, want)
							}
							acked++
						case kind != k.message:
							return fmt.Errorf("client %d: received a %s", i, kind)
						default:
							// The pattern or the channel: both are the name here.
							if !contains(channelNames[:acked], rest[0].Text) {
								return fmt.Errorf("client %d: %v before the ack of %s", i, v, rest[0].Text)
							}
						}
					}
					if err := leave(c, k.unsubscribe, len(channelNames)); err != nil {
						return fmt.Errorf("client %d: %w", i, err)
					}
				}
				return nil
			})
		}
		publishers := newCrowd(t)
		for p := range 3 {
			c := target.Dial(t)
			publishers.run(func() error { return flood(c, channelNames, done, uint64(p)) })
		}
		subscribers.wait()
		close(done)
		publishers.wait()
	})
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// leave ends all subscriptions of a kind and reads until all n acks are there.
func leave(c *harness.Conn, command string, n int) error {
	if err := c.Command(command); err != nil {
		return err
	}
	for n > 0 {
		v, err := c.Next()
		if err != nil {
			return err
		}
		kind, _, ok := v.Message()
		if !ok {
			return fmt.Errorf("received %v", v)
		}
		if strings.HasSuffix(kind, "unsubscribe") {
			n--
		}
	}
	return nil
}

// TestInvariant_NoLateMessage: no message of a channel follows its unsubscribe
// ack, whatever was in flight. Clients hold several subscriptions and give
// them up one by one and all at once, while all channels are published to;
// after the last ack a PING tells that nothing came any more.
func TestInvariant_NoLateMessage(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		subscribers, done := newCrowd(t), make(chan struct{})
		for i := range 6 {
			c := target.Dial(t)
			subscribers.run(func() error {
				k := kinds[i%len(kinds)]
				r := rand.New(rand.NewPCG(uint64(i), 4))
				for round := 0; round < scaled(120) && !subscribers.over(); round++ {
					marker := fmt.Sprintf("round-%d", round)
					var b []byte
					b = harness.AppendCommand(b, append([]string{k.subscribe}, channelNames...)...)
					if err := c.Send(b); err != nil {
						return err
					}
					// Something is in flight before the names are given up.
					held := map[string]bool{}
					for messages := 0; messages < 3 || len(held) < len(channelNames); {
						v, err := c.Next()
						if err != nil {
							return err
						}
						kind, rest, ok := v.Message()
						switch {
						case !ok:
							return fmt.Errorf("client %d: received %v", i, v)
						case strings.HasSuffix(kind, "subscribe"):
							held[rest[0].Text] = true
						default:
							messages++
						}
					}
					b = nil
					order := r.Perm(len(channelNames))
					alone := r.IntN(len(order) + 1)
					for _, at := range order[:alone] {
						b = harness.AppendCommand(b, k.unsubscribe, channelNames[at])
					}
					if alone < len(order) {
						b = harness.AppendCommand(b, k.unsubscribe)
					}
					b = harness.AppendCommand(b, "PING", marker)
					if err := c.Send(b); err != nil {
						return err
					}
					for {
						v, err := c.Next()
						if err != nil {
							return err
						}
						if v.Type == '$' && v.Text == marker {
							break
						}
						kind, rest, ok := v.Message()
						switch {
						case !ok:
							return fmt.Errorf("client %d: received %v", i, v)
						case strings.HasSuffix(kind, "unsubscribe"):
							delete(held, rest[0].Text)
						case !held[rest[0].Text]:
							return fmt.Errorf("client %d: %v after the unsubscribe ack of %s", i, v, rest[0].Text)
						}
					}
					if len(held) > 0 {
						return fmt.Errorf("client %d: never acked: %v", i, held)
					}
				}
				return nil
			})
		}
		publishers := newCrowd(t)
		for p := range 3 {
			c := target.Dial(t)
			publishers.run(func() error { return flood(c, channelNames, done, uint64(p)) })
		}
		subscribers.wait()
		close(done)
		publishers.wait()
	})
}

// A tally counts by message: what PUBLISH answered, and what arrived.
type tally struct {
	mu        sync.Mutex
	answered  map[string]int64
	delivered map[string]int64
}

func (y *tally) add(counts map[string]int64, into *map[string]int64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if *into == nil {
		*into = map[string]int64{}
	}
	for id, n := range counts {
		(*into)[id] += n
	}
}

// TestInvariant_ExactCount: the number that PUBLISH answers is the number of
// deliveries, message by message, while subscribers come and go.
func TestInvariant_ExactCount(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		const publishers = 3
		messages := scaled(1500)
		var counts tally
		done := make(chan struct{})
		subscribers, sources := newCrowd(t), newCrowd(t)
		for i := range 7 {
			c := target.Dial(t)
			subscribers.run(func() error {
				got, err := comeAndGo(c, uint64(i), done)
				counts.add(got, &counts.delivered)
				if err != nil {
					return fmt.Errorf("subscriber %d: %w", i, err)
				}
				return nil
			})
		}
		for p := range publishers {
			c := target.Dial(t)
			sources.run(func() error {
				r := rand.New(rand.NewPCG(uint64(p), 5))
				answered := map[string]int64{}
				for n := 0; n < messages && !subscribers.over(); {
					var batch [][2]string
					for range min(1+r.IntN(16), messages-n) {
						batch = append(batch, [2]string{channelNames[r.IntN(len(channelNames))], fmt.Sprintf("%d:%d", p, n)})
						n++
					}
					replies, err := publishAll(c, batch)
					if err != nil {
						return err
					}
					for i, n := range replies {
						answered[batch[i][1]] = n
					}
				}
				counts.add(answered, &counts.answered)
				return nil
			})
		}
		sources.wait()
		close(done)
		subscribers.wait()
		if t.Failed() {
			return
		}
		var sum int64
		for id, n := range counts.answered {
			sum += n
			if got := counts.delivered[id]; got != n {
				t.Fatalf("PUBLISH of message %s answered %d, %d deliveries arrived", id, n, got)
			}
		}
		if len(counts.answered) != publishers*messages || sum == 0 {
			t.Fatalf("%d messages were published and %d deliveries promised: nothing was tested", len(counts.answered), sum)
		}
	})
}

// comeAndGo subscribes to and unsubscribes from random channels and patterns
// until done is closed, then unsubscribes from everything. It returns how
// often each message arrived.
func comeAndGo(c *harness.Conn, seed uint64, done <-chan struct{}) (map[string]int64, error) {
	r := rand.New(rand.NewPCG(seed, 6))
	patterns := []string{"c.*", "c.[01]", "*.3", "c.2"}
	got := map[string]int64{}
	// until takes what comes until the given number of acks has come.
	until := func(acks int) error {
		for acks > 0 {
			v, err := c.Next()
			if err != nil {
				return err
			}
			if d, ok := asDelivery(v); ok {
				got[d.payload]++
				continue
			}
			if _, _, ok := v.Message(); !ok {
				return fmt.Errorf("received %v", v)
			}
			acks--
		}
		return nil
	}
	for {
		select {
		case <-done:
			var b []byte
			b = harness.AppendCommand(b, append([]string{"UNSUBSCRIBE"}, channelNames...)...)
			b = harness.AppendCommand(b, append([]string{"PUNSUBSCRIBE"}, patterns...)...)
			if err := c.Send(b); err != nil {
				return got, err
			}
			return got, until(len(channelNames) + len(patterns))
		default:
		}
		// Pipelined, so that an unsubscribe may run in the turn of a message's
		// arrival, and the next subscribe right behind it.
		var b []byte
		acks := 0
		for range 1 + r.IntN(4) {
			names, command := channelNames, ""
			if r.IntN(2) == 0 {
				names, command = patterns, "P"
			}
			if r.IntN(2) == 0 {
				command += "SUBSCRIBE"
			} else {
				command += "UNSUBSCRIBE"
			}
			words := []string{command}
			for range 1 + r.IntN(2) {
				words = append(words, names[r.IntN(len(names))])
				acks++
			}
			b = harness.AppendCommand(b, words...)
		}
		if err := c.Send(b); err != nil {
			return got, err
		}
		if err := until(acks); err != nil {
			return got, err
		}
	}
}

// TestInvariant_ExactCount_OwnMessages is the case of a client that publishes
// to itself and leaves in the same write: what it was counted for must arrive
// before its unsubscribe ack.
func TestInvariant_ExactCount_OwnMessages(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		all := newCrowd(t)
		for i := range 4 {
			c := target.Dial(t)
			if v, err := c.Do("HELLO", "3"); err != nil || v.Type != '%' {
				t.Fatal(v, err)
			}
			all.run(func() error {
				for round := 0; round < scaled(400) && !all.over(); round++ {
					payload := fmt.Sprintf("%d:%d", i, round)
					var b []byte
					b = harness.AppendCommand(b, "SUBSCRIBE", "own")
					b = harness.AppendCommand(b, "PUBLISH", "own", payload)
					b = harness.AppendCommand(b, "UNSUBSCRIBE", "own")
					if err := c.Send(b); err != nil {
						return err
					}
					arrived, counted := 0, false
					for acks := 0; acks < 2; {
						v, err := c.Next()
						if err != nil {
							return err
						}
						if n, ok := v.Int(); ok {
							if counted = true; n < 1 {
								return fmt.Errorf("client %d: its own PUBLISH reached %d receivers", i, n)
							}
						} else if d, ok := asDelivery(v); ok {
							if d.payload == payload {
								arrived++
							}
						} else {
							acks++
						}
					}
					if arrived != 1 || !counted {
						return fmt.Errorf("client %d: its own message of round %d arrived %d times before it left", i, round, arrived)
					}
				}
				return nil
			})
		}
		all.wait()
	})
}
