package broker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"broker/internal/acl"
	"broker/internal/command"
	"broker/internal/config"
	"broker/rcu"
	"broker/resp"
	"broker/shard"
)

// A Broker is a running server.
type Broker struct {
	// Immutable after Start.
	log      *slog.Logger
	group    *shard.Group
	users    *acl.Store
	stopping chan struct{}   // closed by Shutdown
	asked    chan struct{}   // closed by askShutdown
	askOnce  sync.Once       // guards that
	life     context.Context // ends then, too
	end      context.CancelFunc

	// current is what CONFIG SET changes. Whoever has put a token into
	// changing installs the next one, and takes the token out (invariant
	// one-writer). It is no mutex, because ports are opened meanwhile.
	current  rcu.Cell[state]
	changing chan struct{}

	acceptors  sync.WaitGroup
	handshakes *handshakes
	tls        tlsState
	plainOnTLS sparseLog
	rejected   atomic.Int64   // connections over maxclients
	admin      *adminListener // nil: none

	mu sync.Mutex
	// Guarded by mu.
	watchers []func(*config.Config)
}

// A state is a configuration that is in force (invariant frozen).
type state struct {
	cfg       config.Config
	listeners []*listener    // of the TCP port, the TLS port and the Unix socket, in this order
	settings  shard.Settings // of every loop
}

// Start opens the listeners and runs the shards; it returns once connections
// are accepted. cfg must have passed Validate. The caller owes a Shutdown.
func Start(cfg config.Config, log *slog.Logger) (*Broker, error) {
	b := &Broker{
		log:        log,
		stopping:   make(chan struct{}),
		asked:      make(chan struct{}),
		changing:   make(chan struct{}, 1),
		handshakes: newHandshakes(maxHandshakes, handshakePeriod, crowdedPeriod),
		tls:        tlsState{log: log},
	}
	b.life, b.end = context.WithCancel(context.Background())
	if most := maxDescriptorClients(cfg.ShardCount()); cfg.MaxClients > most {
		log.Warn("maxclients is lowered to what the limit of open files leaves", "asked", cfg.MaxClients, "maxclients", most)
		cfg.MaxClients = most
	}
	if err := b.reloadTLS(&cfg); err != nil {
		return nil, err
	}
	listeners, err := openListeners(&cfg)
	if err != nil {
		return nil, err
	}
	if b.admin, err = openAdmin(cfg.AdminAddr()); err != nil {
		closeListeners(listeners)
		return nil, err
	}
	st := &state{cfg: cfg, listeners: listeners, settings: settings(&cfg)}
	b.current.Install(st)

	executable, _ := os.Executable()
	commands := command.New(command.Config{
		Version:       Version,
		Params:        b.parameters,
		SetParams:     b.setParameters,
		Apply:         b.apply,
		RewriteParams: b.rewriteParameters,
		ACLFile:       cfg.ACLFile,
		Log:           log,
		Databases:     cfg.Databases,
		Started:       time.Now(),
		RunID:         newRunID(),
		Shards:        cfg.ShardCount(),
		IO:            string(cfg.IO),
		Rejected:      b.rejected.Load,
		DebugCommand:  debugAccess(cfg.DebugCommand),
		Cluster:       cfg.ClusterEnabled,
		Shutdown:      b.askShutdown,
		Executable:    executable,
		ConfigFile:    cfg.File,
	})
	b.OnChange(func(cfg *config.Config) { commands.Configure(runtime(cfg)) })
	b.users = commands.Users()
	if err := loadUsers(b.users, &cfg); err != nil {
		closeListeners(listeners)
		b.admin.close()
		return nil, err
	}
	b.group, err = shard.NewGroup(shard.Config{
		Shards:   cfg.ShardCount(),
		Driver:   string(cfg.IO),
		Handle:   commands.Handle,
		EndRun:   commands.EndRun,
		NewLocal: commands.NewLocal,
		Opened:   commands.Opened,
		Ended:    commands.Ended,
		Settings: st.settings,
		Limits:   resp.DefaultLimits(),
		Log:      log,
	})
	if err != nil {
		closeListeners(listeners)
		b.admin.close()
		return nil, err
	}
	for _, l := range listeners {
		b.startAccepting(l)
	}
	if b.admin != nil {
		b.serveAdmin(commands, &cfg)
	}
	return b, nil
}

// startAccepting runs the acceptor of l, which ends when l is closed.
func (b *Broker) startAccepting(l *listener) {
	l.accepting = make(chan struct{})
	b.acceptors.Go(func() {
		defer close(l.accepting)
		b.accept(l)
	})
}

// Addrs returns the addresses that are listened on: those of the TCP port, the
// TLS port and the Unix socket, in this order.
func (b *Broker) Addrs() []net.Addr {
	listeners := b.current.Load().listeners
	addrs := make([]net.Addr, 0, len(listeners))
	for _, l := range listeners {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

// Shutdown accepts and reads nothing more, delivers what was acknowledged,
// flushes it until ctx ends, closes every connection and waits for every
// goroutine. It returns ctx's error when clients had to be cut off.
func (b *Broker) Shutdown(ctx context.Context) error {
	close(b.stopping)
	b.end()
	b.changing <- struct{}{} // never taken out: nothing changes any more
	closeListeners(b.current.Load().listeners)
	b.acceptors.Wait()
	b.handshakes.stop()
	b.admin.endScrapes()
	err := b.group.Shutdown(ctx)
	b.admin.shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		b.log.Warn("some clients had not taken everything when the shutdown timeout ended")
	}
	return err
}

// Asked returns a channel that is closed when a client sends SHUTDOWN. Whoever
// owes the Shutdown is to call it then.
func (b *Broker) Asked() <-chan struct{} { return b.asked }

func (b *Broker) askShutdown() { b.askOnce.Do(func() { close(b.asked) }) }

// debugAccess returns who may use DEBUG.
func debugAccess(a config.Access) command.DebugAccess {
	switch a {
	case config.AccessYes:
		return command.DebugEverybody
	case config.AccessLocal:
		return command.DebugLocal
	}
	return command.DebugNobody
}

// tcpPort returns the TCP port that is listened on, or 0.
func (b *Broker) tcpPort() int { return portOf(b.current.Load().listeners, false) }

// tlsPort returns the TLS port that is listened on, or 0.
func (b *Broker) tlsPort() int { return portOf(b.current.Load().listeners, true) }

func portOf(ls []*listener, secure bool) int {
	for _, l := range ls {
		if addr, ok := l.Addr().(*net.TCPAddr); ok && l.tls == secure {
			return addr.Port
		}
	}
	return 0
}

// settings returns what the loops take from cfg and can be told anew. It reads
// the limits of memory that the system sets.
func settings(cfg *config.Config) shard.Settings {
	return shard.Settings{
		NormalLimit:      outputLimit(cfg.OutputLimits.Normal),
		PubSubLimit:      outputLimit(cfg.OutputLimits.PubSub),
		ReplicaLimit:     outputLimit(cfg.OutputLimits.Replica),
		QueryBufferBytes: int(min(cfg.QueryLimitBytes, math.MaxInt)),
		BulkBytes:        int(min(cfg.BulkLimitBytes, math.MaxInt)),
		IdleTimeout:      cfg.Timeout,
		AuthTimeout:      cfg.AuthTimeout,
		ClientMemory:     cfg.MaxMemoryClients.Of(availableMemory()),
		Slow:             slowPolicies(cfg),
		Spin:             shard.Spin(cfg.Spin),
	}
}

// runtime returns what the command layer takes from cfg and can be told anew.
func runtime(cfg *config.Config) command.Runtime {
	return command.Runtime{
		MaxSubscriptions: cfg.MaxSubscriptions,
		MaxPatternBytes:  cfg.MaxPatternBytes,

		RequirePass: cfg.RequirePass,
		AllChannels: cfg.ACLPubSubDefault == config.AllChannels,
		ACLLogLen:   cfg.ACLLogMaxLen,

		SlowlogSlowerThan:  slowlogThreshold(cfg.SlowlogSlowerThanMicros),
		SlowlogMaxLen:      cfg.SlowlogMaxLen,
		LatencyTracking:    cfg.LatencyTracking,
		LatencyPercentiles: cfg.LatencyPercentiles,
	}
}

// slowlogThreshold returns a threshold in microseconds as a duration, the
// longest one if need be.
func slowlogThreshold(micros int64) time.Duration {
	return time.Duration(min(micros, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

// slowPolicies returns what the loops are to do with subscribers that do not
// keep up.
func slowPolicies(cfg *config.Config) *shard.SlowPolicies {
	p := &shard.SlowPolicies{Default: slowPolicy(cfg.SlowPolicy, cfg.SlowLimitBytes)}
	for _, c := range cfg.SlowChannelPolicies {
		p.Channels = append(p.Channels, shard.ChannelPolicy{
			Pattern: c.Name, SlowPolicy: slowPolicy(c.Policy, c.LimitBytes),
		})
	}
	for _, u := range cfg.SlowUserPolicies {
		if p.Users == nil {
			p.Users = map[string]shard.SlowPolicy{}
		}
		p.Users[u.Name] = slowPolicy(u.Policy, u.LimitBytes)
	}
	return p
}

func slowPolicy(kind config.SlowPolicy, limitBytes int64) shard.SlowPolicy {
	k, _ := shard.ParseSlowKind(string(kind)) // config has checked it
	return shard.SlowPolicy{Kind: k, LimitBytes: limitBytes}
}

func outputLimit(l config.OutputLimit) shard.OutputLimit {
	return shard.OutputLimit{
		HardBytes:  l.HardBytes,
		SoftBytes:  l.SoftBytes,
		SoftPeriod: l.SoftFor,
	}
}

// newRunID returns 40 random hexadecimal digits, which name this run of the
// server as Redis's run_id does.
func newRunID() string {
	var id [20]byte
	_, _ = rand.Read(id[:]) // documented never to fail
	return hex.EncodeToString(id[:])
}
