package ordering

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"broker/channelstore"
	"broker/integration/harness"
	"broker/integration/reliability"
	"broker/resp"
	"broker/shard"
)

// A memoryConn is a connection in memory, seen from the broker: it reads what
// the test sends and hands what it is written to a function.
type memoryConn struct {
	net.Conn // nil: nothing else is called but addresses

	sent  chan []byte
	rest  []byte
	taken func([]byte) error
	end   chan struct{}
	once  sync.Once
}

func newMemoryConn(taken func([]byte) error) *memoryConn {
	return &memoryConn{sent: make(chan []byte), taken: taken, end: make(chan struct{})}
}

func (c *memoryConn) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		select {
		case c.rest = <-c.sent:
		case <-c.end:
			return 0, io.EOF
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *memoryConn) Write(b []byte) (int, error) {
	if err := c.taken(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (c *memoryConn) Close() error {
	c.once.Do(func() { close(c.end) })
	return nil
}

// memoryAddr is where both ends of connections in memory are.
type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory:1" }

func (*memoryConn) RemoteAddr() net.Addr { return memoryAddr{} }
func (*memoryConn) LocalAddr() net.Addr  { return memoryAddr{} }

// send hands bytes to the broker and returns when its reader has them.
func (c *memoryConn) send(b []byte) error {
	select {
	case c.sent <- b:
		return nil
	case <-c.end:
		return io.ErrClosedPipe
	}
}

// runWord is a command layer of four words.
func runWord(s *shard.Session, args [][]byte) {
	switch string(args[0]) {
	case "SUBSCRIBE":
		s.Subscribe(channelstore.Channels, args[1:])
	case "PSUBSCRIBE":
		s.Subscribe(channelstore.Patterns, args[1:])
	case "HELLO":
		s.SetProto(resp.RESP3)
		s.Reply().OK()
	case "PUBLISH":
		s.Reply().Int(int64(s.Publish(channelstore.Channels, args[1], args[2])))
	}
}

// TestDeliveries_InMemory is TestDeliveries_OverTCP without sockets: shards,
// inboxes and store at the speed of memory.
func TestDeliveries_InMemory(t *testing.T) {
	const publishers, subscribers, batch = 4, 16, 500
	shardCounts := []int{1, 2, 8}
	total := reliability.Size(6_000_000, 100_000_000)
	each := uint64(total / len(shardCounts) / publishers / subscribers / batch * batch)
	var delivered int64
	var spent time.Duration
	for _, shards := range shardCounts {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			group, err := shard.NewGroup(shard.Config{
				Shards:   shards,
				Driver:   "net",
				Handle:   runWord,
				Settings: shard.Settings{QueryBufferBytes: 1 << 30},
				Limits:   resp.DefaultLimits(),
				Log:      slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			records := make([]*record, subscribers)
			for i := range records {
				records[i] = newRecord(publishers)
			}
			win := newWindow(records)
			all := newCrowd(t)
			var conns []*memoryConn
			var ready sync.WaitGroup
			for i, r := range records {
				finished := make(chan error, 1)
				acks, told := 3, int64(0)
				ready.Add(1)
				conn := newMemoryConn(func(b []byte) error {
					if acks > 0 {
						// Acks come whole: nothing is published yet.
						if acks -= bytes.Count(b, []byte("subscribe\r\n")); acks == 0 {
							ready.Done()
						}
						return nil
					}
					err := r.write(b)
					seen := r.seen.Load()
					if err != nil || seen == int64(each)*publishers {
						select {
						case finished <- err:
						default:
						}
					}
					if err != nil || seen-told > windowMessages/10 {
						told = seen
						win.advance()
					}
					return err
				})
				conns = append(conns, conn)
				group.Adopt(shard.Conn{Net: conn})
				words := []string{"SUBSCRIBE", "c.0", "c.1", "c.2"}
				if i%2 == 1 {
					words = []string{"PSUBSCRIBE", "c.0", "c.1", "*2"}
				}
				b := harness.AppendCommand(nil, words...)
				if i%4 > 1 {
					b = append([]byte("HELLO\r\n"), b...)
				}
				if err := conn.send(b); err != nil {
					t.Fatal(err)
				}
				all.run(func() error {
					select {
					case err := <-finished:
						if err != nil {
							win.end()
							return fmt.Errorf("subscriber %d: %w", i, err)
						}
						return nil
					case <-all.failed:
						return nil
					}
				})
			}
			ready.Wait()
			begin := time.Now()
			var published atomic.Int64
			for p := range publishers {
				reply := fmt.Appendf(nil, ":%d\r\n", subscribers)
				answered := make(chan struct{}, 1)
				missing, at := 0, 0
				conn := newMemoryConn(func(b []byte) error {
					for _, c := range b {
						if c != reply[at%len(reply)] {
							return fmt.Errorf("publisher %d was answered %s", p, harness.Show(b))
						}
						at++
					}
					if missing -= len(b); missing == 0 {
						answered <- struct{}{}
					}
					return nil
				})
				conns = append(conns, conn)
				group.Adopt(shard.Conn{Net: conn})
				all.run(func() error {
					for n := uint64(0); n < each && !all.over(); n += batch {
						var b []byte
						for i := range uint64(batch) {
							b = fmt.Appendf(b, "*3\r\n$7\r\nPUBLISH\r\n$3\r\nc.%d\r\n$%d\r\n", (n+i)%3, payloadLen)
							b = append(appendPayload(b, p, n+i), "\r\n"...)
						}
						missing = batch * len(reply)
						if err := conn.send(b); err != nil {
							return err
						}
						select {
						case <-answered:
						case <-all.failed:
						case <-conn.end:
							return fmt.Errorf("publisher %d: closed", p)
						}
						win.await(published.Add(batch))
					}
					return nil
				})
			}
			all.wait()
			spent += time.Since(begin)
			for _, c := range conns {
				c.Close()
			}
			ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
			defer cancel()
			if err := group.Shutdown(ctx); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if !t.Failed() {
				compare(t, records, each)
				delivered += int64(each) * publishers * subscribers
			}
		})
	}
	reliability.Note(t, "order-memory", "%s deliveries, 1 to 8 shards: 0 lost, 0 twice, 0 out of order", millions(delivered))
	t.Logf("%.0f deliveries/s", float64(delivered)/spent.Seconds())
}
