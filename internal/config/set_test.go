package config

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// pairsOf reads "name value" with parameters separated by '|'.
func pairsOf(text string) []Pair {
	var pairs []Pair
	for part := range strings.SplitSeq(text, "|") {
		name, value, _ := strings.Cut(part, " ")
		pairs = append(pairs, Pair{name, value})
	}
	return pairs
}

func TestSet_ChangesWhatIsNamedAndNothingElse(t *testing.T) {
	for _, tc := range []struct{ set, get, want string }{
		{"port 7000", "port", "7000"},
		{"PORT 7000|maxclients 5", "port", "7000"},
		{"PORT 7000|maxclients 5", "maxclients", "5"},
		{"bind ::1 -127.0.0.1", "bind", "::1 -127.0.0.1"},
		{"port 0|tls-port 7001", "port", "0"},
		{"requirepass a b", "requirepass", "a b"},
		{"timeout 3", "timeout", "3"},
		{"loglevel verbose", "loglevel", "verbose"},
		{"maxmemory-clients 5%", "maxmemory-clients", "5%"},
		{"slowlog-log-slower-than -1|slowlog-max-len 1", "slowlog-log-slower-than", "-1"},
		{"latency-tracking-info-percentiles ", "latency-tracking-info-percentiles", ""},
		{"notify-keyspace-events KEA", "notify-keyspace-events", "AKE"},
		{"client-output-buffer-limit pubsub 1mb 0 0", "client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 1048576 0 0"},
		{"client-output-buffer-limit ", "client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},

		{"save ", "save", ""},
		{"appendonly no|hz 10|latency-monitor-threshold 0", "latency-monitor-threshold", "0"},
		{"hz 20", "hz", "20"},
		{"oom-score-adj-values 0 200 800", "oom-score-adj-values", "0 200 800"},
		{"maxmemory-policy allkeys-lru", "maxmemory-policy", "allkeys-lru"},
		{"tls-replication no", "port", "6379"},
		{"repl-diskless-sync-delay 0|min-replicas-to-write 0", "min-replicas-to-write", "0"},
	} {
		t.Run(tc.set, func(t *testing.T) {
			was, before := Default(), Default()
			c, err := was.Set(pairsOf(tc.set))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := c.Get(tc.get), []Pair{{tc.get, tc.want}}; !reflect.DeepEqual(got, want) {
				t.Errorf("Get = %q, want %q", got, want)
			}
			if !reflect.DeepEqual(was, before) {
				t.Errorf("the old Config is %+v, was %+v", was, before)
			}
			if err := c.Validate(); err != nil {
				t.Error(err)
			}
			named := map[string]bool{}
			for _, pair := range pairsOf(tc.set) {
				named[strings.ToLower(pair.Name)] = true
			}
			for _, pair := range before.Get("*") {
				if now := c.Get(pair.Name); !named[pair.Name] && now[0] != pair {
					t.Errorf("%s is %q, was %q", pair.Name, now[0].Value, pair.Value)
				}
			}
		})
	}
}

// What one Config keeps of parameters without effect is not seen in the other.
func TestSet_KeptValuesAreNotShared(t *testing.T) {
	first, err := new(Config).Set(pairsOf("hz 30"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := first.Set(pairsOf("hz 20|ignore-warnings x"))
	if err != nil {
		t.Fatal(err)
	}
	if got := first.WithoutEffect; !reflect.DeepEqual(got, map[string]string{"hz": "30"}) {
		t.Errorf("first keeps %q", got)
	}
	if got := second.WithoutEffect; !reflect.DeepEqual(got, map[string]string{"hz": "20", "ignore-warnings": "x"}) {
		t.Errorf("second keeps %q", got)
	}
}

func TestSet_Errors(t *testing.T) {
	failed := func(name, why string) string {
		return "ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + why
	}
	for set, want := range map[string]string{
		"shards 1":              failed("shards", "can't set immutable config"),
		"io net":                failed("io", "can't set immutable config"),
		"log-format json":       failed("log-format", "can't set immutable config"),
		"max-pattern-length 0":  failed("max-pattern-length", "argument must be between 1 and 2147483647 inclusive"),
		"appendonly maybe":      failed("appendonly", "argument must be 'yes' or 'no'"),
		"port 7000|save 1 x":    failed("save", "Invalid save parameters"),
		"save 1":                failed("save", "Invalid save parameters"),
		"save 0 1":              failed("save", "Invalid save parameters"),
		"tls-ciphers x":         failed("tls-ciphers", `not supported, only "" is: Go's TLS library chooses among suites without known weaknesses`),
		"tls-protocols TLSv1.1": failed("tls-protocols", "TLS before 1.2 is not spoken. Use a combination of 'TLSv1.2' and 'TLSv1.3'."),
		"hz " + strings.Repeat("x", maxKeptBytes+1):       failed("hz", "argument is longer than 65536 bytes"),
		"requirepass " + strings.Repeat("x", maxPathSize): failed("requirepass", "argument too long (4096), must be under 4096"),
		"port 0":                         failed("port", "configured to not listen anywhere (see bind, port, tls-port and unixsocket)"),
		"timeout 1|bind ":                failed("bind", "configured to not listen anywhere (see bind, port, tls-port and unixsocket)"),
		"bind |port 0":                   failed("bind", "configured to not listen anywhere (see bind, port, tls-port and unixsocket)"),
		strings.Repeat("x", 1000) + " 1": "ERR Unknown option or number of arguments for CONFIG SET - '" + strings.Repeat("x", 128) + "...'",
		"a\x00b 1":                       "ERR Unknown option or number of arguments for CONFIG SET - 'a'",
	} {
		c := Default()
		changed, err := c.Set(pairsOf(set))
		var failure *SetError
		if err == nil || err.Error() != want || !errors.As(err, &failure) {
			t.Errorf("%.40s: error %v\nwant %s", set, err, want)
		}
		if !reflect.DeepEqual(changed, Config{}) || !reflect.DeepEqual(c, Default()) {
			t.Errorf("%.40s: something was changed", set)
		}
	}
}

// A broker on a Unix socket may close its port.
func TestSet_PortMayCloseBesideAnotherListener(t *testing.T) {
	c := Default()
	c.UnixSocket = "/s"
	if _, err := c.Set(pairsOf("port 0|bind ")); err != nil {
		t.Error(err)
	}
}

// sameAsRedis are commands that the real server and Set answer alike.
var sameAsRedis = []string{
	"nosuch 1", "NoSuch 1", "user x", "include x", "loadmodule x", "rename-command x", "sentinel x",
	"dir /", "dbfilename x", "maxmemory x", "maxmemory 5%", "shutdown-on-sigint x", "shutdown-on-sigint save nosave", "shutdown-on-sigint ",
	"databases 1", "DataBases 16", "unixsocket x", "unixsocketperm 7", "tcp-backlog 1", "aclfile x", "cluster-enabled no",
	"logfile x", "pidfile x", "enable-debug-command yes", "daemonize no", "supervised no", "syslog-enabled no",
	"replicaof a 1", "slaveof no one", "socket-mark-id 0", "io-threads 1", "server_cpulist 1",
	"timeout 1|timeout 2", "timeout 1|TIMEOUT 2", "databases 1|databases 2", "databases 1|nosuch 2", "nosuch 2|databases 1",
	"nosuch 1|nosuch 1", "timeout x|timeout y", "timeout x|tcp-keepalive y", "tcp-keepalive y|timeout x", "timeout 1|nosuch 1",
	"PORT x", "port 70000", "port -1", "tls-port x", "tls-port 65536", "timeout -1", "timeout 2147483648", "maxclients 0",
	"acl-pubsub-default x", "acllog-max-len -1", "acllog-max-len 99999999999999999999", "acllog-max-len x",
	"maxmemory-clients 101%", "maxmemory-clients -1", "maxmemory-clients x", "maxmemory-clients -5%", "maxmemory-clients 1.5%",
	"maxmemory-clients %", "maxmemory-clients 5%%", "maxmemory-clients 05%",
	"slowlog-log-slower-than -2", "slowlog-max-len -1", "slowlog-max-len 18446744073709551615",
	"latency-tracking x", "latency-tracking-info-percentiles x", "latency-tracking-info-percentiles 101",
	"latency-tracking-info-percentiles -1", "latency-tracking-info-percentiles nan", "latency-tracking-info-percentiles inf",
	"notify-keyspace-events x?", "tls-auth-clients x", "protected-mode maybe", "tcp-keepalive -1",
	"bind a b c d e f g h i j k l m n o p q", "client-output-buffer-limit pubsub 1 2", "client-output-buffer-limit foo 1 2 3",
	"client-output-buffer-limit master 1 2 3", "client-output-buffer-limit pubsub 1x 2 3", "client-query-buffer-limit 1",
	"proto-max-bulk-len x",

	"maxmemory 10mb", "shutdown-on-sigint force now", "replica-priority 1|slave-priority 2", "oom-score-adj no",
	"save ", "appendonly no", "hz 10", "latency-monitor-threshold 0", "timeout 1|tcp-keepalive 2", "client-output-buffer-limit ",
	"acllog-max-len 9223372036854775807", "notify-keyspace-events KEA", "loglevel WARNING", "maxmemory-clients 0%",
	"proto-max-bulk-len 9223372036854775807", "tls-protocols TLSv1.2 TLSv1.3", "requirepass ",
}

func TestSet_AnswersAreThoseOfRedis(t *testing.T) {
	server := redisServer(t)
	socket := filepath.Join(t.TempDir(), "s")
	withRedis(t, server, []string{"--port", "0", "--unixsocket", socket}, socket, func(rw *bufio.ReadWriter) {
		for _, set := range sameAsRedis {
			c := Default()
			c.Port, c.UnixSocket = 0, socket
			pairs := pairsOf(set)
			got := "+OK"
			if _, err := c.Set(pairs); err != nil {
				got = "-" + err.Error()
			}
			if want := redisSet(t, rw, pairs); got != want {
				t.Errorf("%s: %s\nredis-server: %s", set, got, want)
			}
		}
	})
}

// redisSet sends CONFIG SET and returns the first line of the reply.
func redisSet(t *testing.T, rw *bufio.ReadWriter, pairs []Pair) string {
	t.Helper()
	fmt.Fprintf(rw, "*%d\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n", 2+2*len(pairs))
	for _, pair := range pairs {
		fmt.Fprintf(rw, "$%d\r\n%s\r\n$%d\r\n%s\r\n", len(pair.Name), pair.Name, len(pair.Value), pair.Value)
	}
	rw.Flush()
	line, err := rw.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimRight(line, "\r\n")
}

// A parameter of the real server can be set to what it is at run time here if
// it can there.
func TestSet_WhatChangesAtRunTimeIsWhatDoesInRedis(t *testing.T) {
	server := redisServer(t)
	all := redisConfigAll(t, server)
	socket := filepath.Join(t.TempDir(), "s")
	withRedis(t, server, []string{"--port", "0", "--unixsocket", socket}, socket, func(rw *bufio.ReadWriter) {
		for name, value := range all {
			if name == "bind" {
				value = "127.0.0.1"
			}
			c := Default()
			c.UnixSocket = socket
			got := "+OK"
			pairs := []Pair{{name, value}}
			if _, err := c.Set(pairs); err != nil {
				got = "-" + err.Error()
			}
			if want := redisSet(t, rw, pairs); got != want {
				t.Errorf("%s %q: %s\nredis-server: %s", name, value, got, want)
			}
		}
	})
}

func TestIsSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"requirepass": true, "RequirePass": true, "masterauth": true, "tls-key-file-pass": true, "user": true,
		"port": false, "aclfile": false, "nosuch": false, "": false,
	} {
		if got := IsSecret(name); got != want {
			t.Errorf("IsSecret(%q) = %v, want %v", name, got, want)
		}
	}
}

// Who writes back everything that CONFIG GET showed does not know which
// parameters Redis lacks: those accept what they are.
func TestSet_OurOwnMayBeSetToWhatTheyAre(t *testing.T) {
	c := Default()
	for _, p := range settings() {
		if !p.ours {
			continue
		}
		pairs := []Pair{{p.name, p.get(&c)}}
		if changed, err := c.Set(pairs); err != nil || !reflect.DeepEqual(changed, c) {
			t.Errorf("%s: %v", p.name, err)
		}
		if !p.atStart {
			t.Errorf("%s need not be marked", p.name)
		}
	}
}

func TestSet_ProtectedUnlessEnabled(t *testing.T) {
	for enabled, ok := range map[string]bool{"no": false, "yes": true, "Local": true} {
		c := mustLoad(t, "--enable-protected-configs", enabled)
		changed, err := c.Set(pairsOf("dir /x|dbfilename y"))
		if (err == nil) != ok {
			t.Errorf("%s: %v", enabled, err)
		}
		if got := changed.Get("dir"); ok && (len(got) != 1 || got[0].Value != "/x") {
			t.Errorf("%s: dir is %q", enabled, got)
		}
	}
}

// Two names of one thing have one value.
func TestSet_AliasesShareTheirValue(t *testing.T) {
	c := mustLoad(t, "--hash-max-listpack-entries", "20", "--hash-max-ziplist-entries", "21")
	for _, name := range []string{"hash-max-listpack-entries", "hash-max-ziplist-entries"} {
		if got := c.Get(name); len(got) != 1 || got[0].Value != "21" {
			t.Errorf("%s is %q", name, got)
		}
	}
	c, err := c.Set(pairsOf("hash-max-listpack-entries 512"))
	if err != nil || c.WithoutEffect != nil {
		t.Errorf("back at the default %q is kept, %v", c.WithoutEffect, err)
	}
}
