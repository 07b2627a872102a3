package tools

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"broker/integration/harness"
)

// waitFor asks until the broker answers the command with want.
func waitFor(t *testing.T, c *harness.Conn, want string, command ...string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		v, err := c.Do(command...)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.String(); got == want {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("%q answers %s, want %s", command, got, want)
		}
	}
}

func publish(t *testing.T, c *harness.Conn, channel, payload string) {
	t.Helper()
	if _, err := c.Do("PUBLISH", channel, payload); err != nil {
		t.Fatal(err)
	}
}

func startBroker(t *testing.T, flags ...string) *harness.Target {
	t.Helper()
	return harness.Variant{Shards: 2, IO: "net"}.Start(t, flags...)
}

func TestPubSub_LinesArriveInOrder(t *testing.T) {
	b := startBroker(t)
	const n = 20_000
	sub := start(t, nil, "sub", "-p", b.Port(), "--count", strconv.Itoa(n), "news")
	waitFor(t, b.Dial(t), `*["news" :1]`, "PUBSUB", "NUMSUB", "news")

	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, "line %d\n", i)
	}
	pub := run(t, in.String(), "pub", "-p", b.Port(), "news")
	if pub.status != 0 || pub.stdout != "" || !strings.HasPrefix(pub.stderr, fmt.Sprintf("published %d messages to %d receivers in ", n, n)) {
		t.Errorf("pub: %+v", pub)
	}
	got := sub.end(t)
	if got.status != 0 || got.stdout != in.String() {
		t.Errorf("sub: status %d, %d bytes, want 0 and %d", got.status, len(got.stdout), in.Len())
	}
	if !strings.HasPrefix(got.stderr, fmt.Sprintf("received %d messages, %d bytes of payload, in ", n, in.Len()-n)) {
		t.Errorf("sub reports %q", got.stderr)
	}
}

func TestPubSub_JSONThroughAPipe(t *testing.T) {
	from, to := startBroker(t), startBroker(t)
	r, w := io.Pipe()
	pub := start(t, r, "pub", "-p", to.Port(), "--format", "json", "--quiet")
	sub := start(t, nil, "sub", "-p", from.Port(), "--format", "json", "--pattern", "--count", "3", "--quiet", "a*", "b?")
	end := start(t, nil, "sub", "-p", to.Port(), "--format", "json", "--count", "3", "--quiet", "a\xff", "b1")
	waitFor(t, from.Dial(t), ":2", "PUBSUB", "NUMPAT")
	waitFor(t, to.Dial(t), "*[\"a\\xff\" :1 \"b1\" :1]", "PUBSUB", "NUMSUB", "a\xff", "b1")

	c := from.Dial(t)
	publish(t, c, "a\xff", "x\x00\xfe\n")
	publish(t, c, "b1", "<&>")
	publish(t, c, "b1", "")
	text := sub.end(t).stdout
	want := `{"pattern":"a*","channel_base64":"Yf8=","payload":"","payload_base64":"eAD+Cg=="}
{"pattern":"b?","channel":"b1","payload":"<&>"}
{"pattern":"b?","channel":"b1","payload":""}
`
	if text != want {
		t.Errorf("sub wrote\n%swant\n%s", text, want)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got := pub.end(t); got != (outcome{}) {
		t.Errorf("pub: %+v", got)
	}
	want = strings.NewReplacer(`"pattern":"a*",`, "", `"pattern":"b?",`, "").Replace(want)
	if got := end.end(t); got != (outcome{stdout: want}) {
		t.Errorf("the other end: %+v\nwant %s", got, want)
	}
}

func TestPub_OneMessageSeveralTimesAtARate(t *testing.T) {
	b := startBroker(t)
	sub := start(t, nil, "sub", "-p", b.Port(), "--count", "6", "--format", "raw", "--shard", "s")
	waitFor(t, b.Dial(t), `*["s" :1]`, "PUBSUB", "SHARDNUMSUB", "s")
	begin := time.Now()
	pub := run(t, "", "pub", "-p", b.Port(), "--shard", "--count", "6", "--rate", "100", "s", "ab")
	if took := time.Since(begin); pub.status != 0 || took < 50*time.Millisecond {
		t.Errorf("%+v in %v, want five gaps of 10 ms", pub, took)
	}
	if got := sub.end(t); got.stdout != "abababababab" {
		t.Errorf("sub: %+v", got)
	}
}

func TestSub_EndsInGoodOrder(t *testing.T) {
	b := startBroker(t)
	sub := start(t, nil, "sub", "-p", b.Port(), "c")
	waitFor(t, b.Dial(t), `*["c" :1]`, "PUBSUB", "NUMSUB", "c")
	publish(t, b.Dial(t), "c", "hello")
	sub.stdout.wait(t, "hello\n")
	sub.cancel()
	if got := sub.end(t); got.status != 0 || !strings.HasPrefix(got.stderr, "received 1 messages, 5 bytes") {
		t.Errorf("interrupted: %+v", got)
	}

	sub = start(t, nil, "sub", "-p", b.Port(), "--quiet", "c")
	waitFor(t, b.Dial(t), `*["c" :1]`, "PUBSUB", "NUMSUB", "c")
	b.Stop()
	if got := sub.end(t); got.status != 1 || got.stderr != "broker sub: the broker closed the connection\n" {
		t.Errorf("the broker is gone: %+v", got)
	}
}

func TestPub_StopsWaitingForInput(t *testing.T) {
	b := startBroker(t)
	r, w := io.Pipe()
	defer w.Close()
	pub := start(t, r, "pub", "-p", b.Port(), "c")
	sub := start(t, nil, "sub", "-p", b.Port(), "--quiet", "--count", "1", "c")
	waitFor(t, b.Dial(t), `*["c" :1]`, "PUBSUB", "NUMSUB", "c")
	io.WriteString(w, "one\n")
	sub.end(t) // published without waiting for the end of the input
	pub.cancel()
	if got := pub.end(t); got.status != 0 || !strings.HasPrefix(got.stderr, "published 1 messages to 1 receivers") {
		t.Errorf("%+v", got)
	}
}

func TestPub_RefusedMessagesAreCountedAndFail(t *testing.T) {
	b := startBroker(t, "--proto-max-bulk-len", "1mb")
	got := run(t, strings.Repeat("x", 2<<20)+"\n", "pub", "-p", b.Port(), "c")
	if got.status != 1 || !strings.Contains(got.stderr, "broker pub: ") {
		t.Errorf("%+v", got)
	}
}

// The whole chain over a Unix socket, with an empty and a large payload.
func TestPubSub_UnixSocket(t *testing.T) {
	path := t.TempDir() + "/s"
	b := startBroker(t, "--unixsocket", path)
	sub := start(t, nil, "sub", "-s", path, "--quiet", "--count", "2", "c")
	waitFor(t, b.Dial(t), `*["c" :1]`, "PUBSUB", "NUMSUB", "c")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	in := "\n" + strings.Repeat("y", 1<<20) + "\n"
	run(t, in, "pub", "-s", path, "c")
	if got := sub.end(t); got.stdout != in {
		t.Errorf("status %d, %d bytes, want %d", got.status, len(got.stdout), len(in))
	}
}
