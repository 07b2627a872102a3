package ordering

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"broker/integration/harness"
)

// windowBytes is the receive buffer of clients that are to be slow: little
// enough that their server soon has to hold back what they do not read.
const windowBytes = 4096

// stuck subscribes a client that will never read again.
func stuck(t *testing.T, target *harness.Target, channel string) *harness.Conn {
	t.Helper()
	c, err := harness.DialWindow(target.Addr, windowBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Do("SUBSCRIBE", channel); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestInvariant_NeverWait: PUBLISH is answered and everybody else is served
// while subscribers in every shard read nothing at all.
func TestInvariant_NeverWait(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		const stuckClients, messages = 9, 160
		for range stuckClients {
			stuck(t, target, "x")
		}
		healthy := subscribe(t, target, "SUBSCRIBE", "x")
		publisher, other := target.Dial(t), target.Dial(t)
		// 10 MB for each: below the limits, far above what sockets hold.
		payload := strings.Repeat("p", 64<<10)
		for i := range messages {
			counts, err := publishAll(publisher, [][2]string{{"x", strconv.Itoa(i) + payload}})
			if err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
			if counts[0] != stuckClients+1 {
				t.Fatalf("message %d had %d receivers, want %d", i, counts[0], stuckClients+1)
			}
			d, err := nextMessage(healthy)
			if err != nil || d.payload != strconv.Itoa(i)+payload {
				t.Fatalf("message %d at the client that reads: %.40s %v", i, d.payload, err)
			}
			if v, err := other.Do("SUBSCRIBE", "y"+strconv.Itoa(i)); err != nil || v.Elems[2].Text != strconv.Itoa(i+1) {
				t.Fatalf("SUBSCRIBE beside stuck clients: %v %v", v, err)
			}
		}
	})
}

// TestInvariant_Bounded_Outbox: what a subscriber does not read is held up to
// the limit; then it is closed and the others do not notice.
func TestInvariant_Bounded_Outbox(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		slow := []*harness.Conn{stuck(t, target, "x"), stuck(t, target, "x"), stuck(t, target, "x")}
		healthy := subscribe(t, target, "SUBSCRIBE", "x")
		publisher := target.Dial(t)
		payload := strings.Repeat("p", 64<<10)
		// Sockets hold a few MB besides the limit.
		const enough = 1000
		sent, receivers := 0, int64(len(slow)+1)
		for ; receivers > 1 && sent < enough; sent++ {
			counts, err := publishAll(publisher, [][2]string{{"x", payload}})
			if err != nil {
				t.Fatal(err)
			}
			if counts[0] > receivers {
				t.Fatalf("message %d: %d receivers, %d before", sent, counts[0], receivers)
			}
			receivers = counts[0]
			if d, err := nextMessage(healthy); err != nil || d.payload != payload {
				t.Fatalf("message %d at the client that reads: %.40s %v", sent, d.payload, err)
			}
		}
		if receivers != 1 {
			t.Fatalf("after %d messages of 64 KiB %d slow subscribers are still counted", sent, receivers-1)
		}
		for _, c := range slow {
			if _, err := c.UntilClosed(); err != nil {
				t.Error(err)
			}
		}
		if v, err := healthy.Do("PING"); err != nil || v.Type != '*' {
			t.Errorf("the client that reads: %v %v", v, err)
		}
	}, "--client-output-buffer-limit", "pubsub 1mb 0 0")
}

// TestInvariant_Bounded_Input: each limit of what a client may send is named
// to it, or closes it, and costs no other client anything.
func TestInvariant_Bounded_Input(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		witness := subscribe(t, target, "SUBSCRIBE", "x")
		for name, c := range map[string]struct {
			send []byte
			says string
		}{
			"bulk length":       {[]byte("*2\r\n$4\r\nPING\r\n$1048577\r\n"), "-ERR Protocol error: invalid bulk length\r\n"},
			"multibulk length":  {[]byte("*2147483648\r\n"), "-ERR Protocol error: invalid multibulk length\r\n"},
			"inline":            {bytes.Repeat([]byte("x"), 80<<10), "-ERR Protocol error: too big inline request\r\n"},
			"multibulk header":  {append([]byte("*"), bytes.Repeat([]byte("1"), 80<<10)...), "-ERR Protocol error: too big mbulk count string\r\n"},
			"bulk header":       {append([]byte("*1\r\n$"), bytes.Repeat([]byte("1"), 80<<10)...), "-ERR Protocol error: too big bulk count string\r\n"},
			"inline in a quote": {append([]byte(`PING "`), bytes.Repeat([]byte("x"), 80<<10)...), "-ERR Protocol error: too big inline request\r\n"},
		} {
			t.Run(name, func(t *testing.T) {
				conn := target.Dial(t)
				// The server may close before it has taken everything.
				conn.Send(c.send)
				got, err := conn.UntilClosed()
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != c.says {
					t.Errorf("answered %s, want %q", harness.Show(got), c.says)
				}
			})
		}
		if n, err := publishAll(target.Dial(t), [][2]string{{"x", "still"}}); err != nil || n[0] != 1 {
			t.Errorf("PUBLISH: %v %v", n, err)
		}
		if d, err := nextMessage(witness); err != nil || d.payload != "still" {
			t.Errorf("received %v %v", d, err)
		}
	}, "--proto-max-bulk-len", "1mb", "--client-query-buffer-limit", "1mb")
}

// TestInvariant_Bounded_IncompleteCommand: a command that does not end is held
// up to client-query-buffer-limit, whatever its arguments are. (Redis 7.0
// counts only the last of them.)
func TestInvariant_Bounded_IncompleteCommand(t *testing.T) {
	for _, v := range harness.Variants(1, 2) {
		t.Run(v.String(), func(t *testing.T) {
			target := v.Start(t, "--client-query-buffer-limit", "1mb")
			conn := target.Dial(t)
			// The broker may close before it has taken everything.
			conn.Send([]byte("*100000\r\n" + strings.Repeat("$100\r\n"+strings.Repeat("a", 100)+"\r\n", 30000)))
			if got, err := conn.UntilClosed(); err != nil || len(got) > 0 {
				t.Errorf("answered %s, %v; want no answer", harness.Show(got), err)
			}
			if v, err := target.Dial(t).Do("PING"); err != nil || v.Text != "PONG" {
				t.Error(v, err)
			}
		})
	}
}

// TestInvariant_Bounded_Clients: one client over maxclients is told so and
// closed; when another leaves, there is room again.
func TestInvariant_Bounded_Clients(t *testing.T) {
	onEach(t, func(t *testing.T, target *harness.Target) {
		const limit = 8
		var conns []*harness.Conn
		for range limit {
			c := target.Dial(t)
			if v, err := c.Do("PING"); err != nil || v.Text != "PONG" {
				t.Fatal(v, err)
			}
			conns = append(conns, c)
		}
		got, err := target.Dial(t).UntilClosed()
		if err != nil || string(got) != "-ERR max number of clients reached\r\n" {
			t.Fatalf("one client too many: %s %v", harness.Show(got), err)
		}
		conns[0].Close()
		for {
			c := target.Dial(t)
			v, err := c.Do("PING")
			c.Close()
			if err == nil && v.Text == "PONG" {
				break
			}
			// The server has not seen the close yet. If it never does, the
			// test times out here and says so.
			if !strings.HasPrefix(v.Text, "ERR max number of clients") {
				t.Fatalf("after one client left: %v %v", v, err)
			}
		}
		for _, c := range conns[1:] {
			if v, err := c.Do("PING"); err != nil || v.Text != "PONG" {
				t.Errorf("a client of before: %v %v", v, err)
			}
		}
	}, "--maxclients", "8")
}

// TestInvariant_Bounded_AnnouncedLengths: a length that was announced and not
// sent costs nothing.
func TestInvariant_Bounded_AnnouncedLengths(t *testing.T) {
	for _, v := range harness.Variants(1, 2) {
		t.Run(v.String(), func(t *testing.T) {
			target := v.Start(t)
			before := heapBytes()
			var conns []*harness.Conn
			// Few and short enough for the machine when the test fails.
			const clients, announced = 20, 64 << 20
			for i := range clients {
				c := target.Dial(t)
				head := fmt.Sprintf("*1000000\r\n$%d\r\n", announced)
				if i%2 == 0 {
					head = fmt.Sprintf("*3\r\n$7\r\nPUBLISH\r\n$1\r\nx\r\n$%d\r\nfirst bytes", announced)
				}
				if err := c.Send([]byte("PING\r\n" + head)); err != nil {
					t.Fatal(err)
				}
				if v, err := c.Next(); err != nil || v.Text != "PONG" {
					t.Fatal(v, err)
				}
				conns = append(conns, c)
			}
			// Now the broker has begun a buffer for each. More than fits into a
			// first one makes it decide how much to add.
			const more = 20 << 10
			for _, c := range conns {
				if err := c.Send(bytes.Repeat([]byte("m"), more)); err != nil {
					t.Fatal(err)
				}
			}
			awaitQueryBuffers(t, target, len(conns)/2, more)
			if grown := heapBytes() - before; grown > 32<<20 {
				t.Errorf("%d clients that announced %d MB each cost %d MB", clients, announced>>20, grown>>20)
			}
			for _, c := range conns {
				if c.Ended() != nil {
					t.Error("a client that announced a legal length was closed")
				}
			}
		})
	}
}

// awaitQueryBuffers waits until at least n clients are in the middle of a
// command of which the broker holds at least size bytes.
func awaitQueryBuffers(t *testing.T, target *harness.Target, n, size int) {
	t.Helper()
	observer := target.Dial(t)
	qbuf := regexp.MustCompile(` qbuf=(\d+) `)
	for start := time.Now(); ; {
		v, err := observer.Do("CLIENT", "LIST")
		if err != nil {
			t.Fatal(err)
		}
		long := 0
		for _, m := range qbuf.FindAllStringSubmatch(v.Text, -1) {
			if held, _ := strconv.Atoi(m[1]); held >= size {
				long++
			}
		}
		if long >= n {
			return
		}
		if time.Since(start) > harness.Patience {
			t.Fatalf("the broker holds %d commands in part, want %d:\n%s", long, n, v.Text)
		}
	}
}

// heapBytes returns the bytes of the process's heap that are in use, live or
// not yet collected.
func heapBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// TestInvariant_Bounded_OwnReplies: a client that asks and never reads is read
// no further once it is owed enough, and gets everything when it reads again.
// (Redis has no such limit and grows.)
func TestInvariant_Bounded_OwnReplies(t *testing.T) {
	const (
		request  = 1 << 20
		requests = 160
		// What the broker may owe before it stops, with room for what one read
		// holds.
		allowed = 64<<20 + 8<<20
	)
	for _, v := range harness.Variants(2) {
		t.Run(v.String(), func(t *testing.T) {
			target := v.Start(t)
			asker, err := harness.DialWindow(target.Addr, windowBytes)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(asker.Close)
			if v, err := asker.Do("CLIENT", "SETNAME", "asker"); err != nil || v.Text != "OK" {
				t.Fatal(v, err)
			}
			echo := harness.AppendCommand(nil, "ECHO", strings.Repeat("e", request))
			sent := make(chan error, 1)
			go func() {
				for range requests {
					if err := asker.Send(echo); err != nil {
						sent <- err
						return
					}
				}
				sent <- nil
			}()
			// Watch what it is owed until that does not change any more while
			// there is more to ask, or until all was asked.
			observer := target.Dial(t)
			omem := regexp.MustCompile(`name=asker .* omem=(\d+) `)
			var last, most int64
			for unchanged, asking := 0, true; asking && unchanged < 400; {
				v, err := observer.Do("CLIENT", "LIST")
				if err != nil {
					t.Fatal(err)
				}
				m := omem.FindStringSubmatch(v.Text)
				if m == nil {
					t.Fatalf("the client that does not read is gone: %v", v)
				}
				owed, _ := strconv.ParseInt(m[1], 10, 64)
				unchanged++
				if owed != last || owed < 32<<20 {
					unchanged = 0
				}
				last, most = owed, max(most, owed)
				select {
				case err := <-sent:
					asking = false
					sent <- err
				default:
				}
			}
			if most > allowed {
				t.Errorf("a client that reads nothing was owed %d MB", most>>20)
			}
			for i := range requests {
				v, err := asker.Next()
				if err != nil || len(v.Text) != request {
					t.Fatalf("reply %d: %d bytes, %v", i, len(v.Text), err)
				}
			}
			if err := <-sent; err != nil {
				t.Error(fmt.Errorf("after reading: %w", err))
			}
		})
	}
}
