package config

import (
	"log/slog"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A field without a row could not be set, shown or checked. Each row must
// change one field, and together they must cover all of them.
func TestTable_EveryFieldHasOneRow(t *testing.T) {
	odd := map[string]string{ // a value other than the default
		"bind":                       "::1",
		"port":                       "1",
		"tcp-backlog":                "1",
		"unixsocket":                 "/s",
		"unixsocketperm":             "1",
		"maxclients":                 "1",
		"shards":                     "1",
		"io":                         "net",
		"client-output-buffer-limit": "normal 1 2 3",
		"client-query-buffer-limit":  "1mb",
		"proto-max-bulk-len":         "1mb",
		"databases":                  "1",
		"tcp-keepalive":              "1",
		"shutdown-timeout":           "1",
		"loglevel":                   "debug",
		"protected-mode":             "no",
		"log-format":                 "json",
		"logfile":                    "/l",
		"pidfile":                    "/p",
		"admin":                      "9121",
		"admin-auth":                 "yes",
		"admin-pprof":                "yes",
		"admin-top-channels":         "5",
		"supervised":                 "auto",

		"maxmemory-clients":              "5%",
		"max-subscriptions-per-client":   "1",
		"max-pattern-length":             "1",
		"spin":                           "auto",
		"slow-subscriber-policy":         "conflate",
		"slow-subscriber-limit":          "5",
		"slow-subscriber-channel-policy": "a conflate 1",
		"slow-subscriber-user-policy":    "b drop-newest 2",
		"timeout":                        "1",
		"auth-timeout":                   "1",

		"requirepass":          "p",
		"aclfile":              "/a",
		"user":                 "alice on nopass",
		"acl-pubsub-default":   "allchannels",
		"acllog-max-len":       "1",
		"enable-debug-command": "local",

		"slowlog-log-slower-than":           "-1",
		"slowlog-max-len":                   "1",
		"latency-tracking":                  "no",
		"latency-tracking-info-percentiles": "50",
		"notify-keyspace-events":            "KEA",
		"cluster-enabled":                   "yes",

		"tls-port":            "1",
		"tls-cert-file":       "/c",
		"tls-key-file":        "/k",
		"tls-key-file-pass":   "p",
		"tls-ca-cert-file":    "/c",
		"tls-ca-cert-dir":     "/d",
		"tls-auth-clients":    "optional",
		"tls-protocols":       "TLSv1.3",
		"tls-session-caching": "no",
	}
	owner := map[string]string{} // field to the row that set it
	for _, p := range settings() {
		def, c := Default(), Default()
		def.IO, c.IO = DriverEpoll, DriverEpoll
		value, ok := odd[p.name]
		if !ok {
			t.Errorf("%s: this test knows no value for it", p.name)
			continue
		}
		if err := p.set(&c, []string{value}); err != nil {
			t.Errorf("%s %s: %v", p.name, value, err)
			continue
		}
		var changed []string
		was, is := reflect.ValueOf(def), reflect.ValueOf(c)
		for i := range was.NumField() {
			if !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
				changed = append(changed, was.Type().Field(i).Name)
			}
		}
		if len(changed) != 1 {
			t.Errorf("%s changes fields %q, want one", p.name, changed)
			continue
		}
		if other, taken := owner[changed[0]]; taken {
			t.Errorf("rows %s and %s share field %s", other, p.name, changed[0])
		}
		owner[changed[0]] = p.name
	}
	for i, typ := 0, reflect.TypeFor[Config](); i < typ.NumField(); i++ {
		name := typ.Field(i).Name
		if _, ok := owner[name]; !ok && name != "File" && name != "WithoutEffect" {
			t.Errorf("field %s has no row", name)
		}
	}
}

func TestTable_NamesAreLowerCaseAndUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range table() {
		if p.name != strings.ToLower(p.name) || strings.ContainsAny(p.name, " =.") || p.name == "help" || p.name == "version" || p.name == includeName {
			t.Errorf("%q is no good name for a parameter", p.name)
		}
		if seen[p.name] {
			t.Errorf("%s has two rows", p.name)
		}
		seen[p.name] = true
		if p.isSetting() && (p.doc == "" || p.args == "") {
			t.Errorf("%s: doc %q, args %q", p.name, p.doc, p.args)
		}
	}
}

func TestGet_AllParametersInTableOrder(t *testing.T) {
	c := Default()
	c.IO = DriverEpoll
	want := []Pair{
		{"bind", "127.0.0.1 -::1"},
		{"protected-mode", "yes"},
		{"port", "6379"},
		{"tcp-backlog", "511"},
		{"unixsocket", ""},
		{"unixsocketperm", "0"},
		{"maxclients", "10000"},
		{"maxmemory-clients", "0"},
		{"max-subscriptions-per-client", "1000000"},
		{"max-pattern-length", "4096"},
		{"timeout", "0"},
		{"auth-timeout", "10"},
		{"shards", "0"},
		{"io", "epoll"},
		{"spin", "off"},
		{"client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
		{"slow-subscriber-policy", "disconnect"}, {"slow-subscriber-limit", "1048576"},
		{"slow-subscriber-channel-policy", ""}, {"slow-subscriber-user-policy", ""},
		{"client-query-buffer-limit", "1073741824"},
		{"proto-max-bulk-len", "536870912"},
		{"databases", "16"},
		{"tcp-keepalive", "300"},
		{"shutdown-timeout", "3"},
		{"requirepass", ""},
		{"aclfile", ""},
		{"acl-pubsub-default", "resetchannels"},
		{"acllog-max-len", "128"},
		{"enable-debug-command", "no"},
		{"slowlog-log-slower-than", "10000"},
		{"slowlog-max-len", "128"},
		{"latency-tracking", "yes"},
		{"latency-tracking-info-percentiles", "50 99 99.9"},
		{"notify-keyspace-events", ""},
		{"cluster-enabled", "no"},
		{"tls-port", "0"},
		{"tls-cert-file", ""},
		{"tls-key-file", ""},
		{"tls-key-file-pass", ""},
		{"tls-ca-cert-file", ""},
		{"tls-ca-cert-dir", ""},
		{"tls-auth-clients", "yes"},
		{"tls-protocols", ""},
		{"tls-session-caching", "yes"},
		{"admin", ""},
		{"admin-auth", "no"},
		{"admin-pprof", "no"},
		{"admin-top-channels", "0"},
		{"supervised", "no"},
		{"loglevel", "notice"},
		{"log-format", "text"},
		{"logfile", ""},
		{"pidfile", ""},
		{"save", ""},
		{"appendonly", "no"},
		{"maxmemory", "0"},
		{"maxmemory-policy", "noeviction"},
		{"daemonize", "no"},
		{"syslog-enabled", "no"},
		{"replicaof", ""},
		{"slaveof", ""},
		{"oom-score-adj", "no"},
		{"tls-ciphers", ""},
		{"tls-ciphersuites", ""},
	}
	// Behind these stands what has no effect.
	if got := c.Get("*"); len(got) < len(want) || !reflect.DeepEqual(got[:len(want)], want) {
		t.Errorf("Get(*) = %q\nwant    %q", got, want)
	}
}

func TestGet_PatternIgnoresCase(t *testing.T) {
	c := Default()
	for pattern, want := range map[string][]string{
		"PORT":       {"port"},
		"Unix*":      {"unixsocket", "unixsocketperm"},
		"*-BUFFER-*": {"client-output-buffer-limit", "client-query-buffer-limit"},
		"[mp]o*":     {"port"},
		"SAVE":       {"save"},
		"hz":         {"hz"},
		"tls-c*":     {"tls-cert-file", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-ciphers", "tls-ciphersuites", "tls-client-cert-file", "tls-client-key-file", "tls-client-key-file-pass"},
		"user":       nil,
		"slaveof":    {"slaveof"}, "key-load-delay": {"key-load-delay"}, "key-load-*": nil, "availability-zone": nil,
		"":                 nil,
		"shards*":          {"shards"},
		"tcp-keepaliv?":    {"tcp-keepalive"},
		"client-*-limi[t]": {"client-output-buffer-limit", "client-query-buffer-limit"},
	} {
		var got []string
		for _, p := range c.Get(pattern) {
			got = append(got, p.Name)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Get(%q) names %q, want %q", pattern, got, want)
		}
	}
}

func TestGet_StartedSecondReadsAsWhole(t *testing.T) {
	c := Default()
	c.ShutdownTimeout = 50 * time.Millisecond
	if got := c.Get("shutdown-timeout"); len(got) != 1 || got[0].Value != "1" {
		t.Errorf("50 ms shown as %q, want 1", got)
	}
}

func TestValidate(t *testing.T) {
	cases := []struct {
		name string
		set  func(*Config)
		want string // part of the error, empty for none
	}{
		{"default", func(*Config) {}, ""},
		{"any port", func(c *Config) { c.Port = AnyPort }, ""},
		{"unix socket only", func(c *Config) { c.Port, c.UnixSocket = 0, "/s" }, ""},
		{"sub-second timeout", func(c *Config) { c.ShutdownTimeout = time.Millisecond }, ""},
		{"no port", func(c *Config) { c.Port = 0 }, "not listen anywhere"},
		{"no address", func(c *Config) { c.Bind = nil }, "not listen anywhere"},
		{"port", func(c *Config) { c.Port = -2 }, `port "-2": argument must be between`},
		{"backlog", func(c *Config) { c.TCPBacklog = -1 }, `tcp-backlog "-1"`},
		{"address", func(c *Config) { c.Bind = []string{"a b"} }, `bind "a b"`},
		{"NUL in address", func(c *Config) { c.Bind = []string{"a\x00"} }, `NUL byte`},
		{"socket path", func(c *Config) { c.UnixSocket = strings.Repeat("x", 108) }, "path too long (108)"},
		{"permissions", func(c *Config) { c.UnixSocketPerm = 0o1000 }, `unixsocketperm "1000": argument must be between 0 and 777`},
		{"clients", func(c *Config) { c.MaxClients = 0 }, `maxclients "0"`},
		{"shards", func(c *Config) { c.Shards = -1 }, `shards "-1"`},
		{"driver", func(c *Config) { c.IO = "" }, "must be one of the following: epoll, net"},
		{"output limit", func(c *Config) { c.OutputLimits.PubSub.SoftBytes = -1 }, "Error in hard, soft"},
		{"output seconds", func(c *Config) { c.OutputLimits.Normal.SoftFor = -time.Second }, "Error in hard, soft"},
		{"query limit", func(c *Config) { c.QueryLimitBytes = 0 }, `client-query-buffer-limit "0"`},
		{"bulk limit", func(c *Config) { c.BulkLimitBytes = 0 }, `proto-max-bulk-len "0"`},
		{"databases", func(c *Config) { c.Databases = 0 }, `databases "0"`},
		{"keepalive", func(c *Config) { c.TCPKeepAlive = -time.Second }, `tcp-keepalive "-1"`},
		{"timeout", func(c *Config) { c.ShutdownTimeout = 1 << 62 }, `shutdown-timeout`},
		{"level", func(c *Config) { c.LogLevel = slog.Level(3) }, "loglevel"},
		{"log format", func(c *Config) { c.LogFormat = "" }, "must be one of the following: text, json"},
		{"log file", func(c *Config) { c.LogFile = strings.Repeat("x", 4096) }, "path too long (4096), must be under 4096"},
		{"NUL in log file", func(c *Config) { c.LogFile = "a\x00" }, "NUL byte"},
		{"TLS port only", func(c *Config) { c.Port, c.TLSPort = 0, 6380 }, ""},
		{"any TLS port", func(c *Config) { c.Port, c.TLSPort = 0, AnyPort }, ""},
		{"client memory", func(c *Config) { c.MaxMemoryClients = MemoryLimit{Bytes: 1, Percent: 1} }, "not both"},
		{"client memory share", func(c *Config) { c.MaxMemoryClients.Percent = 101 }, "maxmemory-clients"},
		{"subscriptions", func(c *Config) { c.MaxSubscriptions = -1 }, "max-subscriptions-per-client"},
		{"pattern", func(c *Config) { c.MaxPatternBytes = 0 }, "max-pattern-length"},
		{"idle", func(c *Config) { c.Timeout = -1 }, "timeout"},
		{"authentication", func(c *Config) { c.AuthTimeout = -1 }, "auth-timeout"},
		{"password", func(c *Config) { c.RequirePass = strings.Repeat("secret", 1000) }, "requirepass (hidden): argument too long (6000), must be under 4096"},
		{"user", func(c *Config) { c.Users = [][]string{{}} }, "user (hidden): argument contains no user name"},
		{"channels", func(c *Config) { c.ACLPubSubDefault = "" }, "one of the following: allchannels, resetchannels"},
		{"debug", func(c *Config) { c.DebugCommand = "" }, "one of the following: no, yes, local"},
		{"slow log", func(c *Config) { c.SlowlogSlowerThanMicros = -2 }, "slowlog-log-slower-than"},
		{"percentile", func(c *Config) { c.LatencyPercentiles = []float64{math.NaN()} }, "Invalid latency-tracking-info-percentiles"},
		{"percentiles", func(c *Config) { c.LatencyPercentiles = make([]float64, 65) }, "Invalid latency-tracking-info-percentiles"},
		{"events", func(c *Config) { c.KeyspaceEvents = "KEA" }, "Invalid event class character"},
		{"certificates", func(c *Config) { c.TLSAuthClients = "" }, "one of the following: no, yes, optional"},
		{"TLS version", func(c *Config) { c.TLSProtocols = "TLSv1.1" }, "TLS before 1.2 is not spoken"},
		{"admin address", func(c *Config) { c.Admin = "nowhere" }, "admin"},
		{"supervisor", func(c *Config) { c.Supervised = "upstart" }, "supervised"},
		{"pid file", func(c *Config) { c.PIDFile = strings.Repeat("x", 4096) }, "pidfile"},
		{"zero Config", func(c *Config) { *c = Config{} }, "maxclients"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := Default()
			tc.set(&c)
			err := c.Validate()
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestDefaultDriver(t *testing.T) {
	for goos, want := range map[string]string{"linux": "epoll", "darwin": "net", "windows": "net"} {
		if got := defaultDriver(goos); got != want {
			t.Errorf("defaultDriver(%s) = %s, want %s", goos, got, want)
		}
	}
}

func TestShardCount(t *testing.T) {
	c := Default()
	if got, want := c.ShardCount(), min(runtime.GOMAXPROCS(0), MaxShards); got != want {
		t.Errorf("shards 0: ShardCount = %d, want %d", got, want)
	}
	c.Shards = 7
	if got := c.ShardCount(); got != 7 {
		t.Errorf("shards 7: ShardCount = %d", got)
	}
}

func TestLogLevel_OrderFollowsRedis(t *testing.T) {
	last := slog.Level(-1 << 20)
	for _, word := range []string{"debug", "verbose", "notice", "warning", "nothing"} {
		c := mustLoad(t, "--loglevel", word)
		if c.LogLevel <= last {
			t.Errorf("%s is %v, not above %v", word, c.LogLevel, last)
		}
		last = c.LogLevel
	}
	if last <= slog.LevelError {
		t.Errorf("nothing is %v, which lets errors through", last)
	}
}

func TestHelp_NamesEveryParameterAndFitsATerminal(t *testing.T) {
	help := Help()
	for _, p := range settings() {
		if !strings.Contains(help, "\n  --"+p.name+" "+p.args+"\n") {
			t.Errorf("help does not show --%s %s", p.name, p.args)
		}
	}
	for _, want := range []string{"--help", "--version", "(default: 6379)", "(default: none)"} {
		if !strings.Contains(help, want) {
			t.Errorf("help does not contain %q", want)
		}
	}
	for line := range strings.Lines(help) {
		if len(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("line of %d bytes: %s", len(line), line)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"port", "port", 0},
		{"prot", "port", 1}, {"por", "port", 1}, {"xport", "port", 1},
		{"part", "port", 1}, {"kitten", "sitting", 3},
	} {
		if got := editDistance(tc.a, tc.b); got != tc.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
