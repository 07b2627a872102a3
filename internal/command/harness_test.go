package command

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"broker/resp"
	"broker/shard"
)

// update makes the golden tests write what they would compare: the README's
// list, and the answers of the redis-server that is installed.
var update = flag.Bool("update", false, "rewrite testdata from redis-server and the README's command list")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server is a Dispatcher on real loops, over connections in memory.
type server struct {
	t     testing.TB
	group *shard.Group
	d     *Dispatcher
}

// handleFunc lets a test stand between the loop and the Dispatcher.
type handleFunc func(d *Dispatcher, s *shard.Session, args [][]byte)

func startServer(t testing.TB, shards int, change ...func(*Config)) *server {
	return startServerWith(t, shards, (*Dispatcher).Handle, change...)
}

func startServerWith(t testing.TB, shards int, handle handleFunc, change ...func(*Config)) *server {
	t.Helper()
	cfg := Config{
		Version:   "1.2.3",
		Params:    testParams,
		Databases: 16,
		Started:   time.Now(),
		RunID:     strings.Repeat("0f", 20),
		Shards:    shards,
		IO:        "net",
		Rejected:  func() int64 { return 7 },
	}
	for _, f := range change {
		f(&cfg)
	}
	srv := &server{t: t, d: New(cfg)}
	group, err := shard.NewGroup(shard.Config{
		Shards:   shards,
		Driver:   "net",
		Opened:   srv.d.Opened,
		Handle:   func(s *shard.Session, args [][]byte) { handle(srv.d, s, args) },
		EndRun:   srv.d.EndRun,
		NewLocal: srv.d.NewLocal,
		Ended:    srv.d.Ended,
		Settings: shard.Settings{QueryBufferBytes: 1 << 30},
		Limits:   resp.DefaultLimits(),
		Log:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.group = group
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := group.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return srv
}

// testParams stands for the configuration.
func testParams(pattern string) [][2]string {
	all := [][2]string{{"port", "6379"}, {"maxclients", "10000"}, {"proto-max-bulk-len", "536870912"}, {"timeout", "0"}}
	var out [][2]string
	for _, p := range all {
		prefix, isPrefix := strings.CutSuffix(strings.ToLower(pattern), "*")
		if isPrefix && strings.HasPrefix(p[0], prefix) || strings.EqualFold(p[0], pattern) {
			out = append(out, p)
		}
	}
	return out
}

// dial connects a client. Clients dialled one after the other go to the
// shards in turn.
func (srv *server) dial() *client {
	ours, theirs := net.Pipe()
	srv.group.Adopt(shard.Conn{Net: theirs})
	c := newClient(srv.t, ours)
	srv.t.Cleanup(func() { _ = ours.Close() })
	return c
}

// A client sends commands and reads replies as raw bytes.
type client struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
}

func newClient(t testing.TB, conn net.Conn) *client {
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, conn: conn, r: bufio.NewReader(conn)}
}

// do sends one command and returns its reply.
func (c *client) do(words ...string) string {
	c.t.Helper()
	c.send(words...)
	return c.read()
}

func (c *client) send(words ...string) {
	c.t.Helper()
	c.write(encode(words...))
}

func (c *client) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

func encode(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

// read returns the bytes of one complete reply.
func (c *client) read() string {
	c.t.Helper()
	var b strings.Builder
	if err := readReply(c.r, &b); err != nil {
		c.t.Fatalf("read: %v after %q", err, b.String())
	}
	return b.String()
}

// expectClosed fails unless the server closes without another byte.
func (c *client) expectClosed() {
	c.t.Helper()
	rest, err := io.ReadAll(c.r)
	if err != nil || len(rest) > 0 {
		c.t.Errorf("connection not closed in silence: %q, %v", rest, err)
	}
}

// readReply copies one reply of either protocol to out.
func readReply(r *bufio.Reader, out *strings.Builder) error {
	head, err := r.ReadString('\n')
	out.WriteString(head)
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(head[1:]))
	switch head[0] {
	case '$', '=':
		if n >= 0 {
			_, err = io.CopyN(out, r, int64(n)+2)
		}
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			if err := readReply(r, out); err != nil {
				return err
			}
		}
	case '+', '-', ':', '_', ',', '#':
	default:
		err = fmt.Errorf("not a reply: %q", head)
	}
	return err
}

// A value is a decoded reply: string (also errors, with their '-'), int64,
// nil, []value, or pairs.
type value any

// pairs is a RESP3 map in the order of the wire.
type pairs [][2]value

func decode(t testing.TB, raw string) value {
	t.Helper()
	v, rest := decodeOne(t, raw)
	if rest != "" {
		t.Fatalf("bytes behind the reply: %q", rest)
	}
	return v
}

func decodeOne(t testing.TB, raw string) (value, string) {
	t.Helper()
	head, rest, ok := strings.Cut(raw, "\r\n")
	if !ok {
		t.Fatalf("no line in %q", raw)
	}
	n, _ := strconv.Atoi(head[1:])
	switch head[0] {
	case '+':
		return head[1:], rest
	case '-':
		return head, rest
	case ':':
		return int64(n), rest
	case '_':
		return nil, rest
	case '$', '=':
		if n < 0 {
			return nil, rest
		}
		return rest[:n], rest[n+2:]
	case '%':
		var m pairs
		for range n {
			var k, v value
			k, rest = decodeOne(t, rest)
			v, rest = decodeOne(t, rest)
			m = append(m, [2]value{k, v})
		}
		return m, rest
	case '*', '~', '>':
		if n < 0 {
			return nil, rest
		}
		list := []value{}
		for range n {
			var v value
			v, rest = decodeOne(t, rest)
			list = append(list, v)
		}
		return list, rest
	}
	t.Fatalf("not a reply: %q", head)
	return nil, ""
}

// flatten turns maps into lists, as RESP2 does.
func flatten(v value) value {
	list := []value{}
	switch v := v.(type) {
	case pairs:
		for _, p := range v {
			list = append(list, flatten(p[0]), flatten(p[1]))
		}
	case []value:
		for _, e := range v {
			list = append(list, flatten(e))
		}
	default:
		return v
	}
	return list
}

// bulk is the encoding of a bulk string.
func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// text returns the contents of a bulk or verbatim string.
func text(t testing.TB, raw string) string {
	t.Helper()
	s, ok := decode(t, raw).(string)
	if !ok {
		t.Fatalf("not a string: %q", raw)
	}
	return strings.TrimPrefix(s, "txt:")
}
