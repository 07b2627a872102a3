package config

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"
)

// AnyPort as [Config].Port lets the kernel choose a free port. It is meant
// for programs that embed the broker; the command line refuses it, as Redis
// refuses every negative port.
const AnyPort = -1

// A Driver names the way bytes get in and out of sockets.
type Driver string

const (
	// DriverEpoll runs each shard on one epoll instance. Linux only.
	DriverEpoll Driver = "epoll"
	// DriverNet runs goroutines over net.Conn. Available everywhere.
	DriverNet Driver = "net"
)

// A ChannelDefault is what a new user may subscribe and publish to.
type ChannelDefault string

const (
	// AllChannels gives new users every channel.
	AllChannels ChannelDefault = "allchannels"
	// ResetChannels gives new users no channel.
	ResetChannels ChannelDefault = "resetchannels"
)

// An Access says who may use something.
type Access string

const (
	// AccessNo is for nobody.
	AccessNo Access = "no"
	// AccessYes is for everybody with the permission.
	AccessYes Access = "yes"
	// AccessLocal is for connections from this machine.
	AccessLocal Access = "local"
)

// A Supervisor is who is told of the start and the end.
type Supervisor string

const (
	// SupervisorNone is nobody.
	SupervisorNone Supervisor = "no"
	// SupervisorSystemd is systemd or who speaks its protocol.
	SupervisorSystemd Supervisor = "systemd"
	// SupervisorAuto is whoever has left a socket for it in the environment.
	SupervisorAuto Supervisor = "auto"
)

// A LogFormat is the way log lines are written.
type LogFormat string

const (
	// LogText is one line of key=value pairs.
	LogText LogFormat = "text"
	// LogJSON is one JSON object to a line.
	LogJSON LogFormat = "json"
)

// Config is everything the broker can be told. [Default] and [Load] return
// one that is complete; the zero Config is not valid.
//
// A Config does not change: [Config.Set] returns another one. Which parameters
// it accepts while the broker runs is said in the table; fields of the others
// say so.
type Config struct {
	// Bind lists the addresses the TCP port is opened on: IP addresses, host
	// names, "*" for every IPv4 address and "::*" for every IPv6 address. An
	// address written with a leading '-' is skipped when this machine does
	// not have it. Empty: no TCP listener. At most 16 addresses.
	Bind []string

	// ProtectedMode turns connections from other machines away. Whoever
	// reaches the broker may use it, so a broker that other machines may use
	// has to be asked for. It means nothing when the default user has a
	// password.
	ProtectedMode bool

	// Port is the TCP port, 1 to 65535. 0: no TCP listener. [AnyPort]: one
	// the kernel chooses.
	Port int

	// TCPBacklog is the length of the queue of connections that wait to be
	// accepted, for TCP and Unix sockets alike. The kernel lowers it to its
	// own maximum. 0: the shortest queue the kernel knows. At start only.
	TCPBacklog int

	// UnixSocket is the path of the Unix socket. Empty: none. At most 107
	// bytes, which is what an address of that family holds. At start only.
	UnixSocket string

	// UnixSocketPerm is the permission bits given to the Unix socket. 0:
	// those that the umask leaves. At start only.
	UnixSocketPerm uint32

	// MaxClients is the number of sessions served at the same time; one more
	// is told so and closed. At least 1.
	MaxClients int

	// MaxMemoryClients is how much memory all sessions together may take
	// before those that take most are closed. The share is one of the memory
	// this process may use. 0: no limit.
	MaxMemoryClients MemoryLimit

	// MaxSubscriptions is how many channels, shard channels and patterns
	// together a session may be subscribed to. 0: no limit.
	MaxSubscriptions int

	// MaxPatternBytes is the longest pattern a session may subscribe to. At
	// least 1.
	MaxPatternBytes int

	// Timeout closes sessions without subscriptions that have sent nothing
	// for so long. 0: never. Set in whole seconds.
	Timeout time.Duration

	// AuthTimeout closes sessions that have not authenticated so long after
	// they were accepted, while the default user has a password. 0: never.
	// Set in whole seconds.
	AuthTimeout time.Duration

	// Shards is the number of event loops. 0: as many as GOMAXPROCS; see
	// [Config.ShardCount]. At start only.
	Shards int

	// IO is the driver all shards use. At start only.
	IO Driver

	// Spin is how long a shard looks for work before it sleeps.
	Spin Spin

	// OutputLimits is what a session may leave unread, by class.
	OutputLimits OutputLimits

	// SlowPolicy is what becomes of messages for a subscriber that does not
	// keep up, and SlowLimitBytes the undelivered bytes from which a dropping
	// one drops. SlowChannelPolicies come before it, and between the two
	// SlowUserPolicies. At most 256 each.
	SlowPolicy          SlowPolicy
	SlowLimitBytes      int64
	SlowChannelPolicies []NamedSlowPolicy
	SlowUserPolicies    []NamedSlowPolicy

	// QueryLimitBytes is the most a session may have received of commands
	// that are not complete yet; beyond it the session is closed. At least
	// 1 MiB.
	QueryLimitBytes int64

	// BulkLimitBytes is the longest argument a command may carry. At least
	// 1 MiB.
	BulkLimitBytes int64

	// Databases is the number of indexes SELECT accepts. All of them share
	// one set of channels, as in Redis. At least 1. At start only.
	Databases int

	// TCPKeepAlive is how long a TCP connection may be silent before the
	// kernel probes whether its other end is alive. 0: never probe. Set in
	// whole seconds.
	TCPKeepAlive time.Duration

	// ShutdownTimeout bounds the flush of outboxes when the broker shuts
	// down. 0: what the sockets do not take at once is lost. Set in whole
	// seconds.
	ShutdownTimeout time.Duration

	// RequirePass is the password of the default user. Empty: none is needed.
	// Less than 4096 bytes.
	RequirePass string

	// ACLFile is the path of the file that users are read from and saved to.
	// Empty: none. Less than 4096 bytes. At start only.
	ACLFile string

	// Users are the user directives, each the words behind the directive: a
	// name and its rules, which nothing here looks at. At start only.
	Users [][]string

	// ACLPubSubDefault is the channels that a new user may use.
	ACLPubSubDefault ChannelDefault

	// ACLLogMaxLen is the number of entries ACL LOG keeps. 0: none.
	ACLLogMaxLen int

	// DebugCommand says who may use DEBUG. At start only.
	DebugCommand Access

	// SlowlogSlowerThanMicros is how many microseconds a command takes at
	// least to be kept in the slow log. 0: every command. -1: none.
	SlowlogSlowerThanMicros int64

	// SlowlogMaxLen is the number of entries the slow log keeps. 0: none.
	SlowlogMaxLen int

	// LatencyTracking keeps a histogram of the time each command takes.
	LatencyTracking bool

	// LatencyPercentiles are what INFO latencystats shows of the histograms,
	// each from 0 to 100, in this order. Empty: nothing. At most 64.
	LatencyPercentiles []float64

	// KeyspaceEvents are the classes of keyspace events that were asked for,
	// in Redis's canonical order. There are no keys and so no events.
	KeyspaceEvents string

	// ClusterEnabled makes this broker a node of a cluster. At start only.
	ClusterEnabled bool

	// TLSPort is the TCP port for TLS connections on the addresses of Bind.
	// 0: none. [AnyPort]: one the kernel chooses.
	TLSPort int

	// TLSCertFile and TLSKeyFile are the paths of the broker's certificate
	// chain and of its key, in PEM. Less than 4096 bytes each.
	TLSCertFile, TLSKeyFile string

	// TLSKeyFilePass decrypts the key. Empty: it is not encrypted.
	TLSKeyFilePass string

	// TLSCACertFile and TLSCACertDir are where the certificates are that
	// clients' certificates are checked against: a PEM file, and a folder of
	// such files. Less than 4096 bytes each.
	TLSCACertFile, TLSCACertDir string

	// TLSAuthClients says whether clients have to present a certificate.
	TLSAuthClients TLSAuth

	// TLSProtocols are the versions of TLS that are spoken, as they were
	// written; see [Config.TLSVersions].
	TLSProtocols string

	// TLSSessionCaching lets clients resume a session with a ticket.
	TLSSessionCaching bool

	// Admin is the address of the HTTP listener for metrics and health checks,
	// as it was written; see [Config.AdminAddr]. Empty: none. At start only.
	Admin string

	// AdminAuth asks for a user and a password there. At start only.
	AdminAuth bool

	// AdminPprof adds Go's profiles there. At start only.
	AdminPprof bool

	// AdminTopChannels is how many of the busiest channels the metrics name. 0:
	// none. At most 100. At start only.
	AdminTopChannels int

	// Supervised says whether a service manager is told of the start and the
	// end. At start only.
	Supervised Supervisor

	// LogLevel is the lowest level that is logged.
	LogLevel slog.Level

	// LogFormat is the way log lines are written. At start only.
	LogFormat LogFormat

	// LogFile is the path of the file the log is appended to. Empty: standard
	// output. Less than 4096 bytes. At start only.
	LogFile string

	// PIDFile is the path of the file that holds the process id while the
	// broker runs. Empty: none. Less than 4096 bytes. At start only.
	PIDFile string

	// File is the absolute path of the file the configuration was read from.
	// Empty: no file, or standard input. It is not a parameter.
	File string

	// WithoutEffect are the parameters of Redis that were set and mean
	// nothing here, with their values as written, several values of one
	// joined by blanks. CONFIG GET shows them. Nil: none.
	WithoutEffect map[string]string
}

// Default returns the configuration of a broker that was told nothing. The
// caller owns it.
func Default() Config {
	var c Config
	for _, p := range settings() {
		if p.lines {
			continue // nothing was said yet
		}
		if err := p.set(&c, []string{p.def}); err != nil {
			// The table contradicts itself: a programmer's mistake.
			panic(fmt.Sprintf("config: default of %s: %v", p.name, err))
		}
	}
	return c
}

// Validate reports the first field whose value is out of its range, or a
// combination of fields the broker cannot run with. What [Load] returns has
// passed it; it is for a Config that was put together in Go.
func (c *Config) Validate() error {
	for _, p := range settings() {
		if err := p.check(c); err != nil {
			return fmt.Errorf("%s %s: %w", p.name, p.shown([]string{p.get(c)}), err)
		}
	}
	if !c.listens() {
		return errNoListener
	}
	return nil
}

// listens reports whether there is anything to connect to.
func (c *Config) listens() bool {
	return c.UnixSocket != "" || len(c.Bind) > 0 && (c.Port != 0 || c.TLSPort != 0)
}

var errNoListener = errors.New("configured to not listen anywhere (see bind, port, tls-port and unixsocket)")

// ShardCount returns the number of event loops to run: Shards, or the
// current GOMAXPROCS (at most [MaxShards]) when that is 0.
func (c *Config) ShardCount() int {
	if c.Shards > 0 {
		return c.Shards
	}
	return min(runtime.GOMAXPROCS(0), MaxShards)
}
