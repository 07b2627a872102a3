package differential

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"broker/integration/harness"
)

// serverScripts are played on servers with flags of their own.
var serverScripts = []struct {
	file  string
	flags []string // of both servers
	redis []string // of redis-server alone
	// slots: redis-server is given all slots first, which the broker has.
	slots bool
}{
	{file: "commands.script", flags: []string{"--enable-debug-command", "yes"}},
	{file: "restricted.script"},
	{
		file: "cluster.script", flags: []string{"--cluster-enabled", "yes"}, slots: true,
		// As an address that the server has learnt; the port for nodes may be
		// any, as nobody listens there.
		redis: []string{"--cluster-announce-ip", "127.0.0.1"},
	},
}

// serverDifferences are those of these scripts alone.
var serverDifferences = []difference{
	{anyStep(`HELP`), "    Prints this help.", "    Print this help.", "Redis 7.2 and later"},
}

// TestServerScripts plays conversations about slow commands, memory, DEBUG and
// SHUTDOWN, and with a cluster of one node.
func TestServerScripts(t *testing.T) {
	harness.Program(t, "redis-server")
	for _, sc := range serverScripts {
		scripts, err := harness.ParseScripts(os.DirFS("testdata/server"), sc.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range harness.Variants(2) {
			t.Run(fmt.Sprintf("%s/%v", sc.file, v), func(t *testing.T) {
				t.Parallel()
				redisFlags := slices.Concat(sc.flags, sc.redis)
				if sc.slots {
					redisFlags = append(redisFlags, "--cluster-port", freePort(t))
				}
				redis, broker := harness.StartRedis(t, redisFlags...), v.Start(t, sc.flags...)
				if sc.slots {
					assignSlots(t, redis)
				}
				for _, s := range scripts {
					for _, proto := range protocols(s) {
						t.Run(fmt.Sprintf("%s/resp=%d", s.Name, proto), func(t *testing.T) {
							compareMasked(t, redis, broker, s, proto)
						})
					}
				}
			})
		}
	}
}

// assignSlots gives a redis-server all slots and waits until it serves them.
func assignSlots(t *testing.T, redis *harness.Target) {
	t.Helper()
	c := redis.Dial(t)
	defer c.Close()
	if v, err := c.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383"); err != nil || v.Text != "OK" {
		t.Fatalf("CLUSTER ADDSLOTSRANGE: %v %v", v, err)
	}
	for deadline := time.Now().Add(harness.Patience); ; {
		v, err := c.Do("CLUSTER", "INFO")
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the cluster is not served: %v %v", v, err)
		}
		if strings.Contains(v.Text, "cluster_state:ok") {
			return
		}
	}
}

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// compareMasked is compare with what names one server only made equal.
func compareMasked(t *testing.T, redis, broker *harness.Target, s harness.Script, proto int) {
	left, right := harness.NewPlayer(redis, proto), harness.NewPlayer(broker, proto)
	defer left.Close()
	defer right.Close()
	for _, step := range s.Steps {
		want, err := left.Play(step)
		if err != nil {
			t.Fatalf("line %d: %s\n%s: %v", step.Line, step.Source, redis.Name, err)
		}
		got, err := right.Play(step)
		if err != nil {
			t.Fatalf("line %d: %s\n%s: %v", step.Line, step.Source, broker.Name, err)
		}
		mask(redis, want)
		mask(broker, got)
		if diff := differ(want, got, withDifferences(serverDifferences)); diff != "" {
			t.Errorf("line %d: %.200s\n%s", step.Line, step.Source, diff)
		}
	}
}

// withDifferences rewrites redis-server's answers by a list.
func withDifferences(list []difference) func(string, []byte) []byte {
	return func(source string, b []byte) []byte {
		for _, d := range list {
			if d.step.MatchString(source) {
				b = bytes.ReplaceAll(b, []byte(d.redis), []byte(d.broker))
			}
		}
		return b
	}
}

var (
	nodeID      = regexp.MustCompile(`[0-9a-f]{40}`)
	nodeAddress = regexp.MustCompile(`:\d+@\d+`)
)

// mask replaces the ids of nodes and the server's ports.
func mask(server *harness.Target, o harness.Outcome) {
	var walk func(v *harness.Value)
	walk = func(v *harness.Value) {
		v.Text = nodeAddress.ReplaceAllString(nodeID.ReplaceAllString(v.Text, "id"), ":port@bus")
		if v.Type == ':' && v.Text == server.Port() {
			v.Text = "1"
		}
		for i := range v.Elems {
			walk(&v.Elems[i])
		}
	}
	for name, raw := range o.Got {
		values, err := harness.ParseAll(raw)
		if err != nil {
			continue // differ shows it
		}
		var out []byte
		for i := range values {
			walk(&values[i])
			out = values[i].Append(out)
		}
		o.Got[name] = out
	}
}

// TestSlowlog_KeepsWhatRedisKeeps compares the entries of a slow log that keeps
// everything: the arguments with what is cut or hidden of them, the name of the
// client, and which commands are left out.
func TestSlowlog_KeepsWhatRedisKeeps(t *testing.T) {
	long := strings.Repeat("x", 200)
	many := slices.Concat([]string{"MGET"}, slices.Repeat([]string{"k"}, 40))
	commands := [][]string{
		{"PING"}, {"ping", "a b"}, {"ECHO", "\x00\r\n"}, {"ECHO", long}, {"ECHO", long[:128]}, {"ECHO", long[:129]},
		many, many[:32], many[:33],
		{"CLIENT", "SETNAME", "me"}, {"PUBLISH", "ch", "x"}, {"SPUBLISH", "ch", long}, {"SUBSCRIBE", "a", "b"}, {"UNSUBSCRIBE"},
		{"NOSUCH", "x"}, {"PING", "a", "b"}, {"CONFIG", "GET", "port"}, {"CONFIG", "GET"},
		{"MULTI"}, {"PING", "in"}, {"PUBLISH", "ch", "in"}, {"CLIENT", "LIST"}, {"EXEC"},
		{"MULTI"}, {"DISCARD"}, {"EXEC"},
		{"AUTH", "secret"}, {"AUTH", "default", "secret"}, {"AUTH", "nobody", "secret"},
		{"HELLO", "2", "AUTH", "default", "secret"}, {"HELLO", "2", "AUTH", "nobody", "secret", "SETNAME", "n"},
		{"ACL", "SETUSER", "u", ">secret", "on"}, {"ACL", "WHOAMI"},
		{"CONFIG", "SET", "timeout", "0", "masterauth", "secret"}, {"config", "set", "REQUIREPASS", ""},
		{"DEBUG", "SLEEP", "0.001"}, {"DEBUG", "FOO"}, {"CLIENT", "KILL", "ID", "999999"}, {"MEMORY", "PURGE"},
		{"SLOWLOG", "LEN"}, {"INFO"}, {"RESET"}, {"PING"},
	}
	flags := []string{"--enable-debug-command", "yes"}
	want := slowEntries(t, harness.StartRedis(t, flags...), commands)
	for _, v := range harness.Variants(2) {
		t.Run(v.String(), func(t *testing.T) {
			got := slowEntries(t, v.Start(t, flags...), commands)
			for i := range max(len(want), len(got)) {
				var w, g string
				if i < len(want) {
					w = want[i]
				}
				if i < len(got) {
					g = got[i]
				}
				if w != g {
					t.Fatalf("entry %d:\n got %s\nwant %s", i, g, w)
				}
			}
		})
	}
}

// slowEntries runs commands with the slow log at 0 and returns its entries, the
// oldest first, without what depends on the run. ACL DELUSER is not among the
// commands: Redis began to hide its arguments after 7.0.
func slowEntries(t *testing.T, server *harness.Target, commands [][]string) []string {
	t.Helper()
	c := server.Dial(t)
	do := func(words ...string) harness.Value {
		v, err := c.Do(words...)
		if err != nil {
			t.Fatalf("%s: %q: %v", server.Name, words, err)
		}
		return v
	}
	do("CONFIG", "SET", "slowlog-max-len", "1000", "slowlog-log-slower-than", "0")
	do("SLOWLOG", "RESET")
	for _, words := range commands {
		do(words...)
		if words[0] == "SUBSCRIBE" {
			if _, err := c.Next(); err != nil { // the second ack
				t.Fatal(err)
			}
		}
		if words[0] == "UNSUBSCRIBE" {
			if _, err := c.Next(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out []string
	next := int64(-1)
	entries := do("SLOWLOG", "GET", "-1").Elems
	slices.Reverse(entries)
	for _, e := range entries {
		if len(e.Elems) != 6 || e.Elems[4].Text != c.LocalAddr() {
			t.Fatalf("%s: entry %v of %s", server.Name, e, c.LocalAddr())
		}
		id, now, micros := number(t, e.Elems[0]), number(t, e.Elems[1]), number(t, e.Elems[2])
		if next >= 0 && id != next || now < 1_600_000_000 || micros < 0 {
			t.Errorf("%s: id %d, time %d, %d µs", server.Name, id, now, micros)
		}
		next = id + 1
		if args := e.Elems[3].Elems; strings.EqualFold(args[0].Text, "DEBUG") && len(args) == 3 && micros < 1000 {
			t.Errorf("%s: DEBUG SLEEP 0.001 took %d µs", server.Name, micros)
		}
		var line strings.Builder
		for _, a := range e.Elems[3].Elems {
			fmt.Fprintf(&line, "%q ", a.Text)
		}
		fmt.Fprintf(&line, "by %q", e.Elems[5].Text)
		out = append(out, line.String())
	}
	return out
}

func number(t *testing.T, v harness.Value) int64 {
	t.Helper()
	var n int64
	if _, err := fmt.Sscan(v.Text, &n); err != nil || v.Type != ':' {
		t.Fatalf("no number: %v", v)
	}
	return n
}

// TestLatencyHistogram_HasRedisForm compares everything of the answer but the
// times: the commands, the calls, and that the bounds are among Redis's.
func TestLatencyHistogram_HasRedisForm(t *testing.T) {
	var bounds []int64 // in microseconds
	for bit := 10; bit < 40; bit++ {
		bounds = append(bounds, (1<<bit+1<<(bit-7)-1)/1000)
	}
	ask := func(t *testing.T, server *harness.Target, proto string, names ...string) []string {
		c := server.Dial(t)
		for _, words := range [][]string{
			{"CONFIG", "RESETSTAT"}, {"HELLO", proto}, {"PING"}, {"PING"}, {"PUBLISH", "a", "b"}, {"CONFIG", "GET", "port"},
			{"CONFIG", "SET", "timeout", "0"}, {"NOSUCH"}, {"PING", "a", "b", "c"}, {"CLIENT", "ID"},
		} {
			if _, err := c.Do(words...); err != nil {
				t.Fatal(err)
			}
		}
		v, err := c.Do(append([]string{"LATENCY", "HISTOGRAM"}, names...)...)
		if err != nil {
			t.Fatal(err)
		}
		out := []string{fmt.Sprintf("%c", v.Type)}
		for i := 0; i+1 < len(v.Elems); i += 2 {
			body := v.Elems[i+1]
			if len(body.Elems) != 4 || body.Elems[0].Text != "calls" || body.Elems[2].Text != "histogram_usec" {
				t.Fatalf("%s: %v", server.Name, body)
			}
			steps, last := body.Elems[3], int64(0)
			for j := 0; j+1 < len(steps.Elems); j += 2 {
				if bound := number(t, steps.Elems[j]); !slices.Contains(bounds, bound) {
					t.Errorf("%s: bound %d", server.Name, bound)
				}
				last = number(t, steps.Elems[j+1])
			}
			calls := number(t, body.Elems[1])
			if last != calls {
				t.Errorf("%s: %s: the distribution ends at %d of %d calls", server.Name, v.Elems[i].Text, last, calls)
			}
			out = append(out, fmt.Sprintf("%s %c %c %d", v.Elems[i].Text, body.Type, steps.Type, calls))
		}
		slices.Sort(out[1:])
		return out
	}
	redis := harness.StartRedis(t)
	for _, v := range harness.Variants(1, 2) {
		broker := v.Start(t)
		for _, names := range []string{"", "ping", "PING Config nope", "config|get client ping", "exec"} {
			for _, proto := range []string{"2", "3"} {
				t.Run(fmt.Sprintf("%v/%s/resp=%s", v, names, proto), func(t *testing.T) {
					want, got := ask(t, redis, proto, strings.Fields(names)...), ask(t, broker, proto, strings.Fields(names)...)
					if !slices.Equal(want, got) {
						t.Errorf("got %q, want %q", got, want)
					}
				})
			}
		}
	}
}
