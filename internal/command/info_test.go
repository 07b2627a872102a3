package command

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fields parses an INFO text strictly: titles, blank lines between sections,
// and one name per field.
func fields(t *testing.T, info string) (titles []string, values map[string]string) {
	t.Helper()
	values = map[string]string{}
	for i, section := range strings.Split(info, "\r\n\r\n") {
		lines := strings.Split(strings.TrimSuffix(section, "\r\n"), "\r\n")
		title, ok := strings.CutPrefix(lines[0], "# ")
		if !ok {
			t.Fatalf("section %d begins with %q", i, lines[0])
		}
		titles = append(titles, title)
		for _, l := range lines[1:] {
			name, v, ok := strings.Cut(l, ":")
			if _, twice := values[name]; !ok || twice || strings.ContainsAny(l, "\r\n") {
				t.Errorf("bad line %q in %s", l, title)
			}
			values[name] = v
		}
	}
	return titles, values
}

func TestInfo_Sections(t *testing.T) {
	c := startServer(t, 2).dial()
	standard := "Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace Broker"
	all := strings.Replace(standard, "Modules", "Modules Commandstats", 1)
	all = strings.Replace(all, "Errorstats", "Errorstats Latencystats", 1)
	for _, tt := range []struct{ args, want string }{
		{"", standard},
		{"default", standard},
		{"all", all},
		{"EVERYTHING", all},
		{"default commandstats latencystats", all},
		{"all server", all},
		{"stats SERVER stats", "Server Stats"},
		{"keyspace nope cluster", "Cluster Keyspace"},
	} {
		titles, _ := fields(t, text(t, c.do(append([]string{"INFO"}, strings.Fields(tt.args)...)...)))
		if got := strings.Join(titles, " "); got != tt.want {
			t.Errorf("INFO %s: %s, want %s", tt.args, got, tt.want)
		}
	}
	converse(t, c, []turn{
		{`INFO nope`, "$0\r\n\r\n"},
		{`INFO ""`, "$0\r\n\r\n"},
		{`INFO cluster keyspace`, bulk("# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n")},
	})
	c.do("HELLO", "3")
	converse(t, c, []turn{
		{`INFO nope`, "=4\r\ntxt:\r\n"},
		{`INFO keyspace`, "=16\r\ntxt:# Keyspace\r\n\r\n"},
	})
}

func TestInfo_Values(t *testing.T) {
	srv := startServer(t, 3)
	var clients []*client
	for range 6 { // two per shard
		clients = append(clients, srv.dial())
	}
	c := clients[0]
	for i, cl := range clients[1:] {
		cl.do("SUBSCRIBE", "a")
		cl.do("SSUBSCRIBE", "s"+strconv.Itoa(i))
	}
	c.do("PUBLISH", "a", "x")
	for _, cl := range clients[1:] {
		cl.read() // the message: it is counted before it is written
	}
	clients[5].do("RESET")
	clients[5].do("PSUBSCRIBE", "p*")

	_, got := fields(t, text(t, c.do("INFO", "everything")))
	for name, want := range map[string]string{
		"redis_version": compatVersion, "redis_git_sha1": "00000000", "redis_git_dirty": "0", "broker_version": "1.2.3", "redis_mode": "standalone",
		"tcp_port": "6379", "run_id": strings.Repeat("0f", 20), "multiplexing_api": "net", "uptime_in_days": "0",
		"connected_clients": "6", "pubsub_clients": "5", "maxclients": "10000", "blocked_clients": "0",
		"loading": "0", "maxmemory": "0", "maxmemory_human": "0B", "maxmemory_policy": "noeviction",
		"total_connections_received": "6", "rejected_connections": "7", "total_commands_processed": "14",
		"pubsub_channels": "1", "pubsub_patterns": "1", "pubsubshard_channels": "4",
		"client_query_buffer_limit_disconnections": "0", "client_output_buffer_limit_disconnections": "0",
		"role": "master", "connected_slaves": "0", "cluster_enabled": "0",
		"broker_shards": "3", "broker_messages_published": "1", "broker_messages_delivered": "5",
		"broker_closed_by_client": "0",
	} {
		if got[name] != want {
			t.Errorf("%s:%s, want %s", name, got[name], want)
		}
	}
	for name, pattern := range map[string]string{
		"os": `^Linux \S+ \S+$|^[A-Z]\w+ \S+$`, "process_id": `^[1-9]\d*$`, "arch_bits": `^(32|64)$`,
		"used_memory": `^[1-9]\d+$`, "used_memory_human": `^\d+\.\d\d[KMG]$`, "used_memory_rss": `^[1-9]\d+$`,
		"used_memory_peak_perc": `^\d+\.\d\d%$`, "mem_fragmentation_ratio": `^\d+\.\d\d$`,
		"used_cpu_user": `^\d+\.\d{6}$`, "instantaneous_ops_per_sec": `^\d+$`, "instantaneous_input_kbps": `^\d+\.\d\d$`,
		"server_time_usec": `^\d{16}$`, "total_net_input_bytes": `^[1-9]\d+$`, "total_net_output_bytes": `^[1-9]\d+$`,
	} {
		if !regexp.MustCompile(pattern).MatchString(got[name]) {
			t.Errorf("%s:%s does not match %s", name, got[name], pattern)
		}
	}
}

func TestInfo_CommandAndErrorStats(t *testing.T) {
	srv := startServer(t, 2)
	a, b := srv.dial(), srv.dial() // on different shards
	for _, c := range []*client{a, b} {
		c.write(strings.Repeat(encode("PUBLISH", "x", "y"), 5))
		for range 5 {
			c.read()
		}
		c.do("PUBLISH", "x")                 // rejected: arity
		c.do("SELECT", "x")                  // failed
		c.do("PUBSUB", "NUMSUB")             // subcommand
		c.do("NOPE")                         // unknown: no row
		c.do("PUBSUB", "NOPE")               // likewise
		c.do("HELLO", "9")                   // failed: NOPROTO
		c.do("HELLO", "2", "AUTH", "u", "p") // failed: WRONGPASS
	}
	a.do("SUBSCRIBE", "s")
	a.do("TIME") // rejected: subscriber mode
	b.write("*1\r\n$-5\r\n")
	if got := b.read(); !strings.HasPrefix(got, "-ERR Protocol error") {
		t.Fatalf("got %q", got)
	}
	b.expectClosed()

	_, got := fields(t, text(t, srv.dial().do("INFO", "commandstats", "errorstats", "stats")))
	for name, want := range map[string]string{
		"cmdstat_publish":       "calls=10,rejected_calls=2,failed_calls=0",
		"cmdstat_select":        "calls=2,rejected_calls=0,failed_calls=2",
		"cmdstat_pubsub|numsub": "calls=2,rejected_calls=0,failed_calls=0",
		"cmdstat_time":          "calls=0,rejected_calls=1,failed_calls=0",
		"cmdstat_hello":         "calls=4,rejected_calls=0,failed_calls=4",
		"cmdstat_info":          "calls=1,rejected_calls=0,failed_calls=0",
	} {
		if v := regexp.MustCompile(`usec=\d+,usec_per_call=\d+\.\d\d,`).ReplaceAllString(got[name], ""); v != want {
			t.Errorf("%s:%s, want %s", name, got[name], want)
		}
	}
	for name, want := range map[string]string{
		"errorstat_ERR":          "count=10", // two each of arity, SELECT, unknown command and subcommand; gate; protocol
		"errorstat_NOPROTO":      "count=2",
		"errorstat_WRONGPASS":    "count=2",
		"total_error_replies":    "14",
		"acl_access_denied_auth": "2",
	} {
		if got[name] != want {
			t.Errorf("%s:%s, want %s", name, got[name], want)
		}
	}
	if _, listed := got["cmdstat_echo"]; listed {
		t.Error("a command that was never sent is listed")
	}
}

// TestCommandStats_TimeIsThatOfTheRun: the time of a run of equal commands is
// attributed to that command, and the idle time between reads to none.
func TestCommandStats_TimeIsThatOfTheRun(t *testing.T) {
	srv := startServer(t, 1)
	c := srv.dial()
	began := time.Now()
	for range 50 {
		c.write(encode("PING") + encode("PING") + encode("ECHO", "x"))
		for range 3 {
			c.read()
		}
	}
	_, got := fields(t, text(t, c.do("INFO", "commandstats")))
	elapsed := float64(time.Since(began).Microseconds())
	var sum float64
	for name, calls := range map[string]int{"cmdstat_ping": 100, "cmdstat_echo": 50} {
		var n int
		var usec int64
		var each float64
		if _, err := fmt.Sscanf(got[name], "calls=%d,usec=%d,usec_per_call=%f,", &n, &usec, &each); err != nil {
			t.Fatalf("%s:%s: %v", name, got[name], err)
		}
		if n != calls || each <= 0 || math.Abs(each*float64(n)-float64(usec)) > 1+0.01*float64(n) {
			t.Errorf("%s:%s", name, got[name])
		}
		sum += float64(usec)
	}
	if sum > elapsed {
		t.Errorf("%v µs of commands in %v µs", sum, elapsed)
	}
}

func TestRates_AreSinceTheLastQuestion(t *testing.T) {
	start := time.Unix(1000, 0)
	d := New(Config{Databases: 1, Started: start})
	for _, tt := range []struct {
		after    time.Duration
		commands int64
		ops      float64
	}{
		{500 * time.Millisecond, 100, 100},             // since the start, as if that were a second ago
		{10 * time.Second, 1000, 100},                  // since the start
		{10500 * time.Millisecond, 1105, 1105. / 10.5}, // too soon for another sample
		{20 * time.Second, 3000, 200},                  // since the second question
		{30 * time.Second, 3000, 0},                    // since the fourth
	} {
		ops, in, out := d.sampleRates(start.Add(tt.after), tt.commands, 10*tt.commands, 20*tt.commands)
		for name, pair := range map[string][2]float64{
			"commands": {ops, tt.ops}, "input": {in, 10 * tt.ops}, "output": {out, 20 * tt.ops},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-6 {
				t.Errorf("%s per second after %v: %v, want %v", name, tt.after, pair[0], pair[1])
			}
		}
	}
}

func TestHumanBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0B", 1023: "1023B", 1024: "1.00K", 1039816: "1015.45K", 1 << 20: "1.00M",
		25275990016: "23.54G", 1 << 40: "1.00T", 3 << 50: "3.00P", 1 << 62: "4096.00P",
	} {
		if got := humanBytes(n); got != want {
			t.Errorf("humanBytes(%d) = %s, want %s", n, got, want)
		}
	}
}

// TestCountErrors_IsBounded: error words cannot grow the table without end.
func TestCountErrors_IsBounded(t *testing.T) {
	c := newCounters(1)
	for i := range 10 * maxErrorPrefixes {
		c.countError("E" + strconv.Itoa(i))
	}
	if len(c.errors) != maxErrorPrefixes || c.errorReplies != 10*maxErrorPrefixes {
		t.Errorf("%d prefixes, %d errors", len(c.errors), c.errorReplies)
	}
}
