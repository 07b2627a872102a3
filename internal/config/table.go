package config

import (
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// MaxShards is the largest number of event loops.
const MaxShards = 256

// Redis keeps most of its counts and seconds in an int, and memory sizes of
// these parameters in a long long no smaller than 1 MiB.
const (
	maxInt32       = math.MaxInt32
	minBufferBytes = 1 << 20
)

// A parameter is one row of the table: all that is known of one name.
//
// parse, get and check belong to the row's kind (kinds.go, facts.go). parse
// writes to c only when it accepts the values, and then also to what c points
// to, which belongs to the caller. A value that get returns is accepted
// by parse and gives the same field again; the exception is [AnyPort], which
// cannot be written as text.
type parameter struct {
	name string // as in redis.conf, lower-case
	args string // placeholder for the value in the help
	doc  string // what it is about, for the help, README.md and broker.conf
	def  string // the default, as parse reads it

	// many says that the parameter takes several values, which may come as
	// separate arguments or within one argument, separated by blanks.
	many bool

	// secret says that no error may show the values.
	secret bool

	// atStart says that CONFIG SET may not change it.
	atStart bool

	// hidden says that CONFIG GET shows the row to no pattern but its name.
	hidden bool

	// inert says that CONFIG GET knows the name only when it was set.
	inert bool

	// idle says that the row shows one value until another one was set, which
	// makes no difference.
	idle bool

	// merges says that a mention changes a part of what was said before.
	merges bool

	// alias is the name of the row of which this one is a second name; "":
	// none.
	alias string

	// ours says that Redis has no parameter of this name.
	ours bool

	// lines says that each mention adds to what was said before, and that the
	// values are words of a line which mean nothing joined.
	lines bool

	parse func(c *Config, values []string) error
	get   func(c *Config) string // nil: there is no value to show
	check func(c *Config) error  // nil unless the row is a setting

	// write returns the lines of a file, each without the name, that turn what
	// was says into what c says; nil was may say anything. Nil: one line with
	// what get returns.
	write func(c, was *Config) []string
}

// set parses the values given for p into c.
func (p *parameter) set(c *Config, values []string) error {
	if !p.isSetting() {
		return p.parse(c, values)
	}
	if p.lines {
		return p.parse(c, values)
	}
	if p.many {
		if len(values) == 0 {
			return p.parse(c, nil) // which is not the same as one empty value
		}
		return p.parse(c, strings.Fields(strings.Join(values, " ")))
	}
	if len(values) != 1 {
		return errArgCount
	}
	return p.parse(c, values)
}

// isSetting reports whether the row has a field in [Config].
func (p *parameter) isSetting() bool { return p.check != nil }

// shown prints values for an error.
func (p *parameter) shown(values []string) string {
	if p.secret && len(values) > 0 {
		return hiddenValue
	}
	return quoteArgs(values)
}

// table returns all rows, in the order in which CONFIG GET shows them. The
// rows are built once and shared by all callers, who may not write them:
// building them takes a hundred times as long as CONFIG GET of one name, and a
// client may ask for thousands in one command (BenchmarkGet).
var table = sync.OnceValue(func() []parameter {
	return slices.Concat(settings(), facts(), inert())
})

// settings returns the rows that set something, in the order in which the
// help shows them. A new parameter is a field of [Config] and a row here.
func settings() []parameter {
	return []parameter{
		addresses("bind",
			"addresses to listen on; a leading '-' allows one to be missing, * is all of IPv4, ::* all of IPv6",
			"127.0.0.1 -::1",
			func(c *Config) *[]string { return &c.Bind }),
		yesNo("protected-mode",
			"turns connections from other machines away, as long as there are no passwords",
			"yes",
			func(c *Config) *bool { return &c.ProtectedMode }),
		port("port",
			"TCP port; 0 opens none",
			"6379",
			func(c *Config) *int { return &c.Port }),
		atStart(number("tcp-backlog",
			"length of the accept queue, subject to the kernel's own maximum",
			"511", 0, maxInt32,
			func(c *Config) *int { return &c.TCPBacklog })),
		atStart(socketPath("unixsocket",
			"path of a Unix socket to listen on; empty opens none",
			"",
			func(c *Config) *string { return &c.UnixSocket })),
		atStart(permissions("unixsocketperm",
			"permissions of the Unix socket in octal; 0 leaves them to the umask",
			"0",
			func(c *Config) *uint32 { return &c.UnixSocketPerm })),
		number("maxclients",
			"connections served at the same time",
			"10000", 1, min(math.MaxUint32, int64(math.MaxInt)),
			func(c *Config) *int { return &c.MaxClients }),
		memoryLimit("maxmemory-clients",
			"memory of all clients together, in bytes or as N% of what the process may use, above which the largest are closed; 0 sets no limit",
			"0",
			func(c *Config) *MemoryLimit { return &c.MaxMemoryClients }),
		number("max-subscriptions-per-client",
			"channels, shard channels and patterns a client may be subscribed to; 0 sets no limit",
			"1000000", 0, maxInt32,
			func(c *Config) *int { return &c.MaxSubscriptions }),
		number("max-pattern-length",
			"bytes of the longest pattern a client may subscribe to",
			"4096", 1, maxInt32,
			func(c *Config) *int { return &c.MaxPatternBytes }),
		seconds("timeout",
			"silence after which a client without subscriptions is closed; 0 never closes",
			"0", 0, maxInt32,
			func(c *Config) *time.Duration { return &c.Timeout }),
		seconds("auth-timeout",
			"time a client has to authenticate when that is required; 0 sets no limit",
			"10", 0, maxInt32,
			func(c *Config) *time.Duration { return &c.AuthTimeout }),
		ours(atStart(number("shards",
			"event loops; 0 takes one per processor Go may use",
			"0", 0, MaxShards,
			func(c *Config) *int { return &c.Shards }))),
		ours(atStart(driver("io",
			"how sockets are served",
			defaultDriver(runtime.GOOS),
			func(c *Config) *Driver { return &c.IO }))),
		spinning("spin",
			"how long a shard of the epoll driver looks for work before it sleeps: off, microseconds, or auto, which spins for up to 50 while that is worth it; costs processor time and saves some 20 microseconds of latency",
			"off",
			func(c *Config) *Spin { return &c.Spin }),
		outputLimits("client-output-buffer-limit",
			"per class (normal, replica, pubsub): unread bytes that close a client at once, unread bytes that close it after SECONDS in a row, and those seconds; 0 sets no limit",
			"normal 0 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60",
			func(c *Config) *OutputLimits { return &c.OutputLimits }),
		enum("slow-subscriber-policy",
			"what becomes of messages for a subscriber that does not keep up: disconnect it at its output limit, as Redis does, or drop-oldest, drop-newest, or conflate (keep the newest of each channel)",
			"disconnect", slowPolicies, nil,
			func(c *Config) *SlowPolicy { return &c.SlowPolicy }),
		memory("slow-subscriber-limit",
			"bytes of undelivered messages from which a dropping slow-subscriber-policy drops",
			"1mb", minSlowLimit, maxSlowLimit,
			func(c *Config) *int64 { return &c.SlowLimitBytes }),
		namedSlowPolicies("slow-subscriber-channel-policy", "PATTERN POLICY BYTES ...",
			"policies for the channels that match a pattern; the first match holds, also over slow-subscriber-user-policy",
			func(c *Config) *[]NamedSlowPolicy { return &c.SlowChannelPolicies }),
		namedSlowPolicies("slow-subscriber-user-policy", "USER POLICY BYTES ...",
			"policies for the clients of a user; CLIENT SLOWPOLICY overrides them",
			func(c *Config) *[]NamedSlowPolicy { return &c.SlowUserPolicies }),
		memory("client-query-buffer-limit",
			"bytes of unfinished commands kept for a client",
			"1gb", minBufferBytes, math.MaxInt64,
			func(c *Config) *int64 { return &c.QueryLimitBytes }),
		memory("proto-max-bulk-len",
			"longest argument of a command",
			"512mb", minBufferBytes, math.MaxInt64,
			func(c *Config) *int64 { return &c.BulkLimitBytes }),
		atStart(number("databases",
			"indexes that SELECT accepts; channels are the same in all of them",
			"16", 1, maxInt32,
			func(c *Config) *int { return &c.Databases })),
		seconds("tcp-keepalive",
			"silence after which the kernel probes a TCP connection; 0 never probes",
			"300", 0, maxInt32,
			func(c *Config) *time.Duration { return &c.TCPKeepAlive }),
		seconds("shutdown-timeout",
			"longest time to deliver what is still queued when shutting down",
			"3", 0, maxInt32,
			func(c *Config) *time.Duration { return &c.ShutdownTimeout }),
		secret(text("requirepass", "PASSWORD",
			"password of the default user; empty asks for none",
			"",
			func(c *Config) *string { return &c.RequirePass })),
		atStart(filePath("aclfile",
			"file that users are loaded from and saved to; empty is none",
			"",
			func(c *Config) *string { return &c.ACLFile })),
		atStart(userLines("user",
			"a user and its access rules, as ACL SETUSER takes them; may be repeated",
			func(c *Config) *[][]string { return &c.Users })),
		enum("acl-pubsub-default",
			"channels that a new user may use: all or none",
			"resetchannels", []choice[ChannelDefault]{{"allchannels", AllChannels}, {"resetchannels", ResetChannels}}, nil,
			func(c *Config) *ChannelDefault { return &c.ACLPubSubDefault }),
		number("acllog-max-len",
			"entries that ACL LOG keeps",
			"128", 0, math.MaxInt,
			func(c *Config) *int { return &c.ACLLogMaxLen }),
		atStart(enum("enable-debug-command",
			"who may use DEBUG: nobody, everybody, or clients on this machine",
			"no", []choice[Access]{{"no", AccessNo}, {"yes", AccessYes}, {"local", AccessLocal}}, nil,
			func(c *Config) *Access { return &c.DebugCommand })),
		number64("slowlog-log-slower-than", "MICROSECONDS",
			"time from which on a command is kept in the slow log; 0 keeps all, -1 none",
			"10000", -1, math.MaxInt64,
			func(c *Config) *int64 { return &c.SlowlogSlowerThanMicros }),
		number("slowlog-max-len",
			"entries that the slow log keeps",
			"128", 0, math.MaxInt,
			func(c *Config) *int { return &c.SlowlogMaxLen }),
		yesNo("latency-tracking",
			"keeps a histogram of the time that each command takes",
			"yes",
			func(c *Config) *bool { return &c.LatencyTracking }),
		percentiles("latency-tracking-info-percentiles",
			"percentiles of the histograms that INFO latencystats shows",
			"50 99 99.9",
			func(c *Config) *[]float64 { return &c.LatencyPercentiles }),
		keyspaceEvents("notify-keyspace-events",
			"classes of keyspace events, kept and shown as in Redis; without keys there are no events",
			"",
			func(c *Config) *string { return &c.KeyspaceEvents }),
		atStart(yesNo("cluster-enabled",
			"makes this broker a node of a cluster",
			"no",
			func(c *Config) *bool { return &c.ClusterEnabled })),
		port("tls-port",
			"TCP port for TLS connections; 0 opens none",
			"0",
			func(c *Config) *int { return &c.TLSPort }),
		filePath("tls-cert-file",
			"certificate chain of the broker, in PEM",
			"",
			func(c *Config) *string { return &c.TLSCertFile }),
		filePath("tls-key-file",
			"private key of the certificate, in PEM",
			"",
			func(c *Config) *string { return &c.TLSKeyFile }),
		secret(text("tls-key-file-pass", "PASSWORD",
			"password of the private key; empty if it is not encrypted",
			"",
			func(c *Config) *string { return &c.TLSKeyFilePass })),
		filePath("tls-ca-cert-file",
			"certificates that clients' certificates are checked against, in PEM",
			"",
			func(c *Config) *string { return &c.TLSCACertFile }),
		filePath("tls-ca-cert-dir",
			"folder of such files",
			"",
			func(c *Config) *string { return &c.TLSCACertDir }),
		enum("tls-auth-clients",
			"whether clients must, need not or may present a certificate",
			"yes", []choice[TLSAuth]{{"no", TLSAuthNo}, {"yes", TLSAuthYes}, {"optional", TLSAuthOptional}}, nil,
			func(c *Config) *TLSAuth { return &c.TLSAuthClients }),
		tlsProtocols("tls-protocols",
			"versions of TLS that are spoken, of TLSv1.2 and TLSv1.3; empty is both",
			"",
			func(c *Config) *string { return &c.TLSProtocols }),
		yesNo("tls-session-caching",
			"lets clients resume a TLS session with a ticket",
			"yes",
			func(c *Config) *bool { return &c.TLSSessionCaching }),
		ours(atStart(adminAddress("admin",
			"address of the HTTP listener for metrics and health checks; a port alone is on the loopback interface, * is every address; empty opens none",
			"",
			func(c *Config) *string { return &c.Admin }))),
		ours(atStart(yesNo("admin-auth",
			"asks those who look at metrics and profiles for the name and password of a user that may run INFO",
			"no",
			func(c *Config) *bool { return &c.AdminAuth }))),
		ours(atStart(yesNo("admin-pprof",
			"adds Go's profiles to the HTTP listener, under /debug/pprof/",
			"no",
			func(c *Config) *bool { return &c.AdminPprof }))),
		ours(atStart(number("admin-top-channels",
			"busiest channels that the metrics name; 0 names none",
			"0", 0, maxTopChannels,
			func(c *Config) *int { return &c.AdminTopChannels }))),
		atStart(enum("supervised",
			"whether a service manager is told of the start and the end: auto tells the one that wants to know",
			"no", []choice[Supervisor]{{"no", SupervisorNone}, {"systemd", SupervisorSystemd}, {"auto", SupervisorAuto}}, nil,
			func(c *Config) *Supervisor { return &c.Supervised })),
		level("loglevel",
			"lowest level that is logged",
			"notice",
			func(c *Config) *slog.Level { return &c.LogLevel }),
		ours(atStart(enum("log-format",
			"how log lines are written: text for people, json for programs",
			"text", []choice[LogFormat]{{"text", LogText}, {"json", LogJSON}}, nil,
			func(c *Config) *LogFormat { return &c.LogFormat }))),
		atStart(filePath("logfile",
			"file to append the log to, which may be moved away while the broker runs; empty is standard output",
			"",
			func(c *Config) *string { return &c.LogFile })),
		atStart(filePath("pidfile",
			"file to write the process id to, removed at the end; empty writes none",
			"",
			func(c *Config) *string { return &c.PIDFile })),
	}
}

// atStart is p as a parameter that a running broker does not change.
func atStart(p parameter) parameter {
	p.atStart = true
	return p
}

// ours is p as a parameter that Redis does not have.
func ours(p parameter) parameter {
	p.ours = true
	return p
}

// defaultDriver returns the driver preferred on the named operating system.
func defaultDriver(goos string) string {
	if goos == "linux" {
		return string(DriverEpoll)
	}
	return string(DriverNet)
}
