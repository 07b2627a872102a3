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
// No field may change once the broker runs.
type Config struct {
	// Bind lists the addresses the TCP port is opened on: IP addresses, host
	// names, "*" for every IPv4 address and "::*" for every IPv6 address. An
	// address written with a leading '-' is skipped when this machine does
	// not have it. Empty: no TCP listener. At most 16 addresses.
	Bind []string

	// ProtectedMode turns connections from other machines away. Whoever
	// reaches the broker may use it, so a broker that other machines may use
	// has to be asked for.
	ProtectedMode bool

	// Port is the TCP port, 1 to 65535. 0: no TCP listener. [AnyPort]: one
	// the kernel chooses.
	Port int

	// TCPBacklog is the length of the queue of connections that wait to be
	// accepted, for TCP and Unix sockets alike. The kernel lowers it to its
	// own maximum. 0: the shortest queue the kernel knows.
	TCPBacklog int

	// UnixSocket is the path of the Unix socket. Empty: none. At most 107
	// bytes, which is what an address of that family holds.
	UnixSocket string

	// UnixSocketPerm is the permission bits given to the Unix socket. 0:
	// those that the umask leaves.
	UnixSocketPerm uint32

	// MaxClients is the number of sessions served at the same time; one more
	// is told so and closed. At least 1.
	MaxClients int

	// Shards is the number of event loops. 0: as many as GOMAXPROCS; see
	// [Config.ShardCount].
	Shards int

	// IO is the driver all shards use.
	IO Driver

	// OutputLimits is what a session may leave unread, by class.
	OutputLimits OutputLimits

	// QueryLimitBytes is the most a session may have received of commands
	// that are not complete yet; beyond it the session is closed. At least
	// 1 MiB.
	QueryLimitBytes int64

	// BulkLimitBytes is the longest argument a command may carry. At least
	// 1 MiB.
	BulkLimitBytes int64

	// Databases is the number of indexes SELECT accepts. All of them share
	// one set of channels, as in Redis. At least 1.
	Databases int

	// TCPKeepAlive is how long a TCP connection may be silent before the
	// kernel probes whether its other end is alive. 0: never probe. Set in
	// whole seconds.
	TCPKeepAlive time.Duration

	// ShutdownTimeout bounds the flush of outboxes when the broker shuts
	// down. 0: what the sockets do not take at once is lost. Set in whole
	// seconds.
	ShutdownTimeout time.Duration

	// LogLevel is the lowest level that is logged.
	LogLevel slog.Level

	// LogFormat is the way log lines are written.
	LogFormat LogFormat

	// LogFile is the path of the file the log is appended to. Empty: standard
	// output. Less than 4096 bytes.
	LogFile string

	// PIDFile is the path of the file that holds the process id while the
	// broker runs. Empty: none. Less than 4096 bytes.
	PIDFile string

	// File is the absolute path of the file the configuration was read from.
	// Empty: no file, or standard input. It is not a parameter.
	File string
}

// Default returns the configuration of a broker that was told nothing. The
// caller owns it.
func Default() Config {
	var c Config
	for _, p := range settings() {
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
			return fmt.Errorf("%s %s: %w", p.name, quoteArgs([]string{p.get(c)}), err)
		}
	}
	if c.UnixSocket == "" && (c.Port == 0 || len(c.Bind) == 0) {
		return errNoListener
	}
	return nil
}

var errNoListener = errors.New("configured to not listen anywhere (see bind, port and unixsocket)")

// ShardCount returns the number of event loops to run: Shards, or the
// current GOMAXPROCS (at most [MaxShards]) when that is 0.
func (c *Config) ShardCount() int {
	if c.Shards > 0 {
		return c.Shards
	}
	return min(runtime.GOMAXPROCS(0), MaxShards)
}
