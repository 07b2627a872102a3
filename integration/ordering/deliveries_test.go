package ordering

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// A record is what one subscriber saw: enough to tell loss, duplication and
// reordering at once, and to compare the order of all messages with that of
// other subscribers at the end. It takes millions of messages a second.
type record struct {
	next  []uint64 // by publisher: the number of the next message
	order uint64   // of everything so far
	rest  []byte   // the beginning of a message that is not whole yet
	seen  atomic.Int64
}

func newRecord(publishers int) *record { return &record{next: make([]uint64, publishers)} }

// payloadLen is the length of a payload: publisher and number in decimal.
const payloadLen = 2 + 12

// appendPayload appends the payload of a publisher's n-th message.
func appendPayload(b []byte, publisher int, n uint64) []byte {
	return fmt.Appendf(b, "%02d%012d", publisher, n)
}

// take notes one message.
func (r *record) take(payload []byte) error {
	if len(payload) != payloadLen {
		return fmt.Errorf("payload %q", payload)
	}
	var publisher, n uint64
	for _, c := range payload[:2] {
		publisher = publisher*10 + uint64(c-'0')
	}
	for _, c := range payload[2:] {
		n = n*10 + uint64(c-'0')
	}
	if publisher >= uint64(len(r.next)) {
		return fmt.Errorf("payload %q", payload)
	}
	switch want := r.next[publisher]; {
	case n > want:
		return fmt.Errorf("message %d of publisher %d came when %d was next: lost or out of order", n, publisher, want)
	case n < want:
		return fmt.Errorf("message %d of publisher %d came when %d was next: duplicate or out of order", n, publisher, want)
	}
	r.next[publisher]++
	// Not commutative: the same messages in another order give another number.
	r.order = r.order*6364136223846793005 + publisher + 1
	r.seen.Add(1)
	return nil
}

// write takes bytes as they come from the wire: messages of any kind, in RESP2
// or RESP3, cut anywhere.
func (r *record) write(b []byte) error {
	if len(r.rest) > 0 {
		b = append(r.rest, b...)
	}
	for len(b) > 0 {
		payload, n, err := lastElement(b)
		if err != nil {
			return fmt.Errorf("%w in %s", err, harness.Show(b))
		}
		if n == 0 {
			break
		}
		if err := r.take(payload); err != nil {
			return err
		}
		b = b[n:]
	}
	r.rest = append(r.rest[:0:0], b...)
	return nil
}

var errNoMessage = errors.New("not a message")

// lastElement returns the last element of the array or push at the front of b
// and its whole length, 0 when it is not whole.
func lastElement(b []byte) (last []byte, n int, err error) {
	if len(b) < 4 {
		return nil, 0, nil
	}
	if b[0] != '*' && b[0] != '>' || b[1] != '3' && b[1] != '4' || b[2] != '\r' {
		return nil, 0, errNoMessage
	}
	at := 4
	for range b[1] - '0' {
		size := 0
		if at >= len(b) {
			return nil, 0, nil
		}
		if b[at] != '$' {
			return nil, 0, errNoMessage
		}
		for at++; at < len(b) && b[at] != '\r'; at++ {
			size = size*10 + int(b[at]-'0')
		}
		at += 2
		if at+size+2 > len(b) {
			return nil, 0, nil
		}
		last = b[at : at+size]
		at += size + 2
	}
	return last, at, nil
}

// A window holds publishers back while a subscriber is too far behind: what is
// checked is healthy consumers.
type window struct {
	records []*record

	mu    sync.Mutex
	moved sync.Cond // some record has grown by much, or the end is near
	over  bool      // guarded by mu
}

// windowMessages is how far a publisher may be ahead of the slowest subscriber.
const windowMessages = 100_000

func newWindow(records []*record) *window {
	w := &window{records: records}
	w.moved.L = &w.mu
	return w
}

// await waits until the slowest subscriber has seen all but windowMessages of
// published.
func (w *window) await(published int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.over && published-w.slowest() > windowMessages {
		w.moved.Wait()
	}
}

func (w *window) slowest() int64 {
	least := w.records[0].seen.Load()
	for _, r := range w.records[1:] {
		least = min(least, r.seen.Load())
	}
	return least
}

// advance tells those who wait to look again.
func (w *window) advance() {
	w.mu.Lock()
	w.moved.Broadcast()
	w.mu.Unlock()
}

// end lets everybody go.
func (w *window) end() {
	w.mu.Lock()
	w.over = true
	w.moved.Broadcast()
	w.mu.Unlock()
}

// compare checks at the end that all have seen everything, in one order.
func compare(t *testing.T, records []*record, each uint64) {
	t.Helper()
	for i, r := range records {
		for p, n := range r.next {
			if n != each {
				t.Errorf("subscriber %d saw %d of %d messages of publisher %d", i, n, each, p)
			}
		}
		if r.order != records[0].order {
			t.Errorf("subscribers 0 and %d saw different orders", i)
		}
		if len(r.rest) > 0 {
			t.Errorf("subscriber %d holds half a message: %q", i, r.rest)
		}
	}
}

// TestDeliveries_OverTCP counts deliveries by the million: four publishers,
// eight subscribers of everything, by channel and by pattern, in both
// protocols.
func TestDeliveries_OverTCP(t *testing.T) {
	const publishers, subscribers, batch = 4, 8, 200
	variants := harness.Variants(1, 2, 8)
	total := reliability.Size(1_000_000, 20_000_000)
	each := uint64(total / len(variants) / publishers / subscribers / batch * batch)
	var delivered int64
	var spent time.Duration
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			target := v.Start(t, "--client-output-buffer-limit", "pubsub 0 0 0")
			records := make([]*record, subscribers)
			for i := range records {
				records[i] = newRecord(publishers)
			}
			win := newWindow(records)
			all := newCrowd(t)
			for i, r := range records {
				c := subscribeFor(t, target, i)
				all.run(func() error {
					defer win.advance()
					told := int64(0)
					for r.seen.Load() < int64(each)*publishers {
						if !c.Pump(time.Now().Add(harness.Patience)) {
							win.end()
							return fmt.Errorf("subscriber %d: nothing more after %d messages: %v", i, r.seen.Load(), c.Ended())
						}
						if err := r.write(c.Received()); err != nil {
							win.end()
							return fmt.Errorf("subscriber %d: %w", i, err)
						}
						c.Discard(len(c.Received()))
						if seen := r.seen.Load(); seen-told > windowMessages/10 {
							told = seen
							win.advance()
						}
					}
					return nil
				})
			}
			var published atomic.Int64
			begin := time.Now()
			for p := range publishers {
				c := target.Dial(t)
				reply := fmt.Appendf(nil, ":%d\r\n", subscribers)
				all.run(func() error {
					var b []byte
					for n := uint64(0); n < each && !all.over(); n += batch {
						b = b[:0]
						for i := range uint64(batch) {
							b = fmt.Appendf(b, "*3\r\n$7\r\nPUBLISH\r\n$3\r\nc.%d\r\n$%d\r\n", (n+i)%3, payloadLen)
							b = append(appendPayload(b, p, n+i), "\r\n"...)
						}
						if err := c.Send(b); err != nil {
							return err
						}
						if !c.Fill(batch*len(reply), time.Now().Add(harness.Patience)) ||
							!bytes.Equal(c.Received(), bytes.Repeat(reply, batch)) {
							return fmt.Errorf("publisher %d: %s", p, harness.Show(c.Received()))
						}
						c.Discard(batch * len(reply))
						win.await(published.Add(batch))
					}
					return nil
				})
			}
			all.wait()
			spent += time.Since(begin)
			if !t.Failed() {
				compare(t, records, each)
				delivered += int64(each) * publishers * subscribers
			}
		})
	}
	reliability.Note(t, "order-tcp", "%s deliveries, 1 to 8 shards, both drivers: 0 lost, 0 twice, 0 out of order", millions(delivered))
	t.Logf("%.0f deliveries/s", float64(delivered)/spent.Seconds())
}

// subscribeFor subscribes the i-th subscriber to everything that is published,
// each channel by one way.
func subscribeFor(t *testing.T, target *harness.Target, i int) *harness.Conn {
	t.Helper()
	c := target.Dial(t)
	if i%2 == 1 {
		if v, err := c.Do("HELLO", "3"); err != nil || v.Type != '%' {
			t.Fatal(v, err)
		}
	}
	commands := [][]string{{"SUBSCRIBE", "c.0", "c.1", "c.2"}}
	switch i % 3 {
	case 1:
		commands = [][]string{{"PSUBSCRIBE", "c.?"}}
	case 2:
		commands = [][]string{{"SUBSCRIBE", "c.0"}, {"PSUBSCRIBE", "?.[12]"}}
	}
	for _, words := range commands {
		if err := c.Command(words...); err != nil {
			t.Fatal(err)
		}
		for range words[1:] {
			if v, err := c.Next(); err != nil || !strings.HasSuffix(v.Elems[0].Text, "subscribe") {
				t.Fatal(v, err)
			}
		}
	}
	return c
}

// millions prints a number as people read it.
func millions(n int64) string {
	if n < 10_000_000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%.0f million", float64(n)/1e6)
}

// TestRecord_FindsEachFault gives the checker what a broker with a fault would
// deliver.
func TestRecord_FindsEachFault(t *testing.T) {
	frame := func(publisher int, n uint64) string {
		p := string(appendPayload(nil, publisher, n))
		return fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$%d\r\n%s\r\n", len(p), p)
	}
	good := frame(0, 0) + frame(1, 0) + frame(0, 1) + frame(1, 1)
	for _, tc := range []struct {
		name, stream string
		good         bool
	}{
		{"nothing wrong", good, true},
		{"lost", frame(0, 0) + frame(0, 2), false},
		{"twice", frame(0, 0) + frame(0, 0), false},
		{"out of order", frame(0, 1) + frame(0, 0), false},
		{"another publisher", frame(2, 0), false},
		{"not a message", "+OK\r\n", false},
		{"a byte too many", frame(0, 0) + "x" + frame(0, 1), false},
	} {
		// Cut everywhere: the checker sees what the wire brings.
		for cut := range len(tc.stream) {
			r := newRecord(2)
			err := r.write([]byte(tc.stream[:cut]))
			if err == nil {
				err = r.write([]byte(tc.stream[cut:]))
			}
			if (err == nil) != tc.good {
				t.Errorf("%s, cut at %d: %v", tc.name, cut, err)
			}
		}
	}
	a, b := newRecord(2), newRecord(2)
	if a.write([]byte(good)) != nil || b.write([]byte(frame(1, 0)+frame(0, 0)+frame(0, 1)+frame(1, 1))) != nil {
		t.Fatal("both orders are legal for one subscriber")
	}
	if a.order == b.order {
		t.Error("two orders of the same messages are not told apart")
	}
}
