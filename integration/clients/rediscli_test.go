package clients

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"broker/integration/harness"
)

// tool returns a command that runs one of Redis's own programs against the
// target. It is killed when the test ends.
func tool(t *testing.T, ctx context.Context, target *harness.Target, name string, args ...string) *exec.Cmd {
	t.Helper()
	path := harness.Program(t, name)
	return exec.CommandContext(ctx, path, append([]string{"-h", "127.0.0.1", "-p", target.Port()}, args...)...)
}

// cli runs redis-cli once and returns what it printed.
func cli(t *testing.T, target *harness.Target, args ...string) string {
	t.Helper()
	out, err := tool(t, patient(t), target, "redis-cli", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// follow starts redis-cli with a command that never ends by itself and returns
// a function that takes the next line it prints.
func follow(t *testing.T, target *harness.Target, args ...string) (next func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(patient(t))
	cmd := tool(t, ctx, target, "redis-cli", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	return func() string {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("redis-cli %v ended: %v", args, lines.Err())
		}
		return lines.Text()
	}
}

func expectLines(t *testing.T, next func() string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := next(); got != w {
			t.Fatalf("redis-cli printed %q, want %q", got, w)
		}
	}
}

func TestRedisCLI_SubscribeAndPublish(t *testing.T) {
	onEach(t, func(t *testing.T, s server) {
		target := s.start(t, "")
		if got := cli(t, target, "publish", "news", "hello"); got != "0\n" {
			t.Errorf("publish printed %q", got)
		}
		channels := follow(t, target, "subscribe", "news", "weather")
		expectLines(t, channels, "subscribe", "news", "1", "subscribe", "weather", "2")
		patterns := follow(t, target, "psubscribe", "n*")
		expectLines(t, patterns, "psubscribe", "n*", "1")
		shard := follow(t, target, "-3", "ssubscribe", "news")
		expectLines(t, shard, "ssubscribe", "news", "1")

		if got := cli(t, target, "publish", "news", "hello world"); got != "2\n" {
			t.Errorf("publish printed %q", got)
		}
		if got := cli(t, target, "-3", "spublish", "news", "shard"); got != "1\n" {
			t.Errorf("spublish printed %q", got)
		}
		expectLines(t, channels, "message", "news", "hello world")
		expectLines(t, patterns, "pmessage", "n*", "news", "hello world")
		expectLines(t, shard, "smessage", "news", "shard")
		if got := cli(t, target, "pubsub", "numsub", "news", "weather"); got != "news\n1\nweather\n1\n" {
			t.Errorf("pubsub numsub printed %q", got)
		}
	})
}

func TestRedisCLI_OneShotCommands(t *testing.T) {
	onEach(t, func(t *testing.T, s server) {
		target := s.start(t, "")
		for _, c := range []struct {
			args []string
			want string // a pattern
		}{
			{[]string{"ping"}, `^PONG\n$`},
			{[]string{"-3", "ping", "hi"}, `^hi\n$`},
			{[]string{"echo", "a b"}, `^a b\n$`},
			{[]string{"info"}, `(?s)# Server\r?\nredis_version:\d+\.\d+\.\d+.*role:master.*`},
			{[]string{"info", "clients"}, `connected_clients:\d+`},
			{[]string{"-3", "info", "server"}, `redis_version:\d+\.\d+\.\d+`},
			{[]string{"-n", "3", "client", "info"}, ` db=3 .* cmd=client\|info .* resp=2`},
			{[]string{"-3", "client", "info"}, ` resp=3`},
			{[]string{"command", "docs", "publish"}, `(?s)^publish\nsummary\n.+\nsince\n2\.0\.0\ngroup\npubsub\n`},
			{[]string{"-3", "command", "docs", "pubsub"}, `(?s)^pubsub summary .*pubsub\|numsub`},
			{[]string{"command", "count"}, `^\d+\n$`},
			{[]string{"config", "get", "databases"}, `^databases\n16\n$`},
			{[]string{"foo", "bar"}, `^ERR unknown command 'foo', with args beginning with: 'bar' \n`},
			{[]string{"-3", "hello"}, `proto 3`},
		} {
			got := cli(t, target, c.args...)
			if !regexp.MustCompile(c.want).MatchString(got) {
				t.Errorf("redis-cli %v printed %.500q, want a match of %q", c.args, got, c.want)
			}
		}
	})
}

func TestRedisCLI_PipeMode(t *testing.T) {
	onEach(t, func(t *testing.T, s server) {
		target := s.start(t, "")
		conn := target.Dial(t)
		if _, err := conn.Do("SUBSCRIBE", "x"); err != nil {
			t.Fatal(err)
		}
		const messages = 5000
		var input bytes.Buffer
		for i := range messages {
			input.Write(harness.AppendCommand(nil, "PUBLISH", "x", fmt.Sprint(i)))
		}
		cmd := tool(t, patient(t), target, "redis-cli", "--pipe")
		cmd.Stdin = &input
		out, err := cmd.CombinedOutput()
		if want := fmt.Sprintf("errors: 0, replies: %d", messages); err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("redis-cli --pipe: %v\n%s", err, out)
		}
		for i := range messages {
			v, err := conn.Next()
			if err != nil || len(v.Elems) != 3 || v.Elems[2].Text != fmt.Sprint(i) {
				t.Fatalf("message %d: %v %v", i, v, err)
			}
		}
	})
}

func TestRedisCLI_CommandsFromStandardInput(t *testing.T) {
	onEach(t, func(t *testing.T, s server) {
		target := s.start(t, "")
		cmd := tool(t, patient(t), target, "redis-cli")
		cmd.Stdin = strings.NewReader("ping\npublish x y\nhello 3\nping \"a b\"\npubsub numpat\n")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := string(out); !strings.HasPrefix(got, "PONG\n0\n") || !strings.HasSuffix(got, "\na b\n0\n") {
			t.Errorf("printed %q", got)
		}
	})
}

func TestRedisBenchmark(t *testing.T) {
	onEach(t, func(t *testing.T, s server) {
		target := s.start(t, "")
		for _, c := range []struct {
			args []string
			want []string // what the lines with a rate begin with
		}{
			{[]string{"-n", "2000", "-c", "20", "publish", "ch", "msg"}, []string{"publish ch msg"}},
			{[]string{"-n", "20000", "-c", "20", "-P", "16", "publish", "ch", "msg"}, []string{"publish ch msg"}},
			{[]string{"-n", "2000", "-c", "20", "-t", "ping"}, []string{"PING_INLINE", "PING_MBULK"}},
			{[]string{"-n", "20000", "-c", "20", "-P", "16", "-t", "ping"}, []string{"PING_INLINE", "PING_MBULK"}},
			{[]string{"-3", "-n", "2000", "-c", "20", "publish", "ch", "msg"}, []string{"publish ch msg"}},
		} {
			out, err := tool(t, patient(t), target, "redis-benchmark", append([]string{"-q"}, c.args...)...).CombinedOutput()
			if err != nil {
				t.Errorf("redis-benchmark %v: %v\n%s", c.args, err, out)
			}
			for _, name := range c.want {
				if !regexp.MustCompile(regexp.QuoteMeta(name) + `: \d+\.\d+ requests per second`).Match(out) {
					t.Errorf("redis-benchmark %v printed no rate of %s:\n%s", c.args, name, out)
				}
			}
			if bytes.Contains(out, []byte("rror")) {
				t.Errorf("redis-benchmark %v:\n%s", c.args, out)
			}
		}
	})
}
