package shard

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"broker/channelstore"
	"broker/resp"
)

// testBroker is a group with a command layer of ten words, over connections
// in memory, so that it runs inside a synctest bubble.
type testBroker struct {
	t     testing.TB
	group *Group

	mu   sync.Mutex
	hold map[string]chan struct{} // guarded by mu: what HOLD waits for
}

func newTestBroker(t testing.TB, shards int, change ...func(*Config)) *testBroker {
	b := &testBroker{t: t, hold: map[string]chan struct{}{}}
	cfg := Config{
		Shards:   shards,
		Driver:   "net",
		Handle:   b.handle,
		Settings: Settings{QueryBufferBytes: 1 << 30},
		Limits:   resp.DefaultLimits(),
		Log:      slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&cfg)
	}
	g, err := NewGroup(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.group = g
	return b
}

func (b *testBroker) stop() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := b.group.Shutdown(ctx); err != nil {
		b.t.Errorf("Shutdown: %v", err)
	}
}

// holdOn makes HOLD name wait until the returned function is called.
func (b *testBroker) holdOn(name string) (release func()) {
	c := make(chan struct{})
	b.mu.Lock()
	b.hold[name] = c
	b.mu.Unlock()
	return func() { close(c) }
}

func (b *testBroker) handle(s *Session, args [][]byte) {
	rest := args[1:]
	switch word := string(args[0]); word {
	case "SUB":
		s.Subscribe(channelstore.Channels, rest)
	case "SSUB":
		s.Subscribe(channelstore.ShardChannels, rest)
	case "PSUB":
		s.Subscribe(channelstore.Patterns, rest)
	case "UNSUB":
		s.Unsubscribe(channelstore.Channels, rest)
	case "SUNSUB":
		s.Unsubscribe(channelstore.ShardChannels, rest)
	case "PUNSUB":
		s.Unsubscribe(channelstore.Patterns, rest)
	case "RESET":
		s.DropSubscriptions(func() {
			s.SetProto(resp.RESP2)
			s.Reply().Simple("RESET")
		})
	case "PUB":
		n := s.Publish(channelstore.Channels, rest[0], rest[1])
		s.Reply().Int(int64(n))
	case "SPUB":
		n := s.Publish(channelstore.ShardChannels, rest[0], rest[1])
		s.Reply().Int(int64(n))
	case "HOLD": // stands for a loop that is slow between its PUBLISH and the end of its turn
		b.mu.Lock()
		c := b.hold[string(rest[0])]
		b.mu.Unlock()
		<-c
		s.Reply().Simple("HELD")
	case "HELLO3":
		s.SetProto(resp.RESP3)
		s.Reply().Simple("3")
	case "PING":
		s.Reply().Simple("PONG")
	case "BIG":
		s.Reply().Bulk(make([]byte, 1<<20))
	case "QUIT":
		s.Reply().Simple("OK")
		s.CloseAfterReply()
	case "COUNT":
		Gather(s, func(l *Loop) int64 { return l.Stats().Sessions }, func(n []int64) {
			var total int64
			for _, v := range n {
				total += v
			}
			s.Reply().Int(total)
		})
	case "COLLECTPANIC":
		Gather(s, func(l *Loop) int {
			if l.id == (s.loop.id+1)%len(b.group.loops) {
				panic("asked for")
			}
			return 0
		}, func([]int) { s.Reply().OK() })
	case "COUNTPANIC":
		Gather(s, func(*Loop) int { return 0 }, func([]int) { panic("asked for") })
	case "WAIT":
		s.Delay(time.Second, func() { s.Reply().Simple("WAITED") })
	case "OFFLOADPANIC":
		Offload(s, func() int { panic("asked for") }, func(int) { s.Reply().OK() })
	case "OFFLOAD":
		Offload(s, func() int { time.Sleep(time.Second); return 7 }, func(n int) { s.Reply().Int(int64(n)) })
	case "MUTED":
		s.Mute()
		b.handle(s, rest)
		s.AfterCommand(s.Unmute)
	case "HELDREPLY": // a reply of two numbers with a second between them
		s.HoldDeliveries()
		s.Reply().Int(1)
		s.Delay(time.Second, func() {
			s.Reply().Int(2)
			s.ReleaseDeliveries()
		})
	case "LOGIN":
		s.SetAnonymous(false)
		s.Reply().OK()
	case "FEEDME":
		s.SetExempt(true)
	case "PANIC":
		panic("asked for")
	default:
		s.Reply().Error("ERR unknown " + word)
	}
}

// testClient is the client's end of a connection in memory. Its reader keeps
// up unless it is paused.
type testClient struct {
	t    testing.TB
	conn net.Conn

	mu     sync.Mutex
	got    bytes.Buffer // guarded by mu
	closed bool         // guarded by mu
	paused chan struct{}
	done   chan struct{}
}

// dial connects a client and returns once its session is adopted. The loop
// with the fewest sessions gets it, so that clients dialled one after the
// other go to the shards in turn.
func (b *testBroker) dial() *testClient {
	ours, theirs := connect(b.t)
	c := &testClient{t: b.t, conn: ours, done: make(chan struct{})}
	b.group.Adopt(Conn{Net: theirs})
	go c.readLoop()
	return c
}

// dialPaused connects a client that reads nothing until go_ is called.
func (b *testBroker) dialPaused() *testClient {
	ours, theirs := connect(b.t)
	c := &testClient{t: b.t, conn: ours, done: make(chan struct{}), paused: make(chan struct{})}
	b.group.Adopt(Conn{Net: theirs})
	go c.readLoop()
	return c
}

func (c *testClient) readLoop() {
	defer close(c.done)
	if c.paused != nil {
		<-c.paused
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := c.conn.Read(buf)
		c.mu.Lock()
		c.got.Write(buf[:n])
		c.closed = err != nil
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// send sends commands, words separated by blanks, as one write.
func (c *testClient) send(commands ...string) {
	c.t.Helper()
	var w resp.Writer
	for _, cmd := range commands {
		words := strings.Fields(cmd)
		w.Array(len(words))
		for _, word := range words {
			w.BulkString(word)
		}
	}
	c.sendRaw(w.B)
}

func (c *testClient) sendRaw(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Errorf("send: %v", err)
	}
}

// take returns what has arrived and forgets it.
func (c *testClient) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.got.String()
	c.got.Reset()
	return s
}

func (c *testClient) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *testClient) close() {
	_ = c.conn.Close()
	if c.paused != nil {
		select {
		case <-c.paused:
		default:
			close(c.paused)
		}
	}
	<-c.done
}

func ack(verb, name string, count int) string {
	return string(resp.AppendAck(nil, resp.RESP2, verb, []byte(name), count))
}

func message(channel, payload string) string {
	return string(resp.AppendMessage(nil, resp.Message, []byte(channel), []byte(payload)))
}

func pmessage(pattern, channel, payload string) string {
	return string(resp.AppendPatternMessage(nil, pattern, []byte(channel), []byte(payload)))
}

func smessage(channel, payload string) string {
	return string(resp.AppendMessage(nil, resp.ShardMessage, []byte(channel), []byte(payload)))
}

func number(n int) string { return fmt.Sprintf(":%d\r\n", n) }
