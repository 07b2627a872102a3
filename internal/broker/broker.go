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

	"broker/internal/command"
	"broker/internal/config"
	"broker/resp"
	"broker/shard"
)

// A Broker is a running server.
type Broker struct {
	// Immutable after Start.
	cfg       config.Config
	log       *slog.Logger
	group     *shard.Group
	listeners []*listener
	stopping  chan struct{} // closed by Shutdown

	acceptors  sync.WaitGroup
	handshakes *handshakes
	tls        tlsState
	plainOnTLS sparseLog
	rejected   atomic.Int64 // connections over maxclients
}

// Start opens the listeners and runs the shards; it returns once connections
// are accepted. cfg must have passed Validate. The caller owes a Shutdown.
func Start(cfg config.Config, log *slog.Logger) (*Broker, error) {
	b := &Broker{
		cfg:        cfg,
		log:        log,
		stopping:   make(chan struct{}),
		handshakes: newHandshakes(maxHandshakes, handshakePeriod, crowdedPeriod),
		tls:        tlsState{log: log},
	}
	if err := b.reloadTLS(&cfg); err != nil {
		return nil, err
	}
	listeners, err := openListeners(&cfg)
	if err != nil {
		return nil, err
	}
	b.listeners = listeners

	executable, _ := os.Executable()
	commands := command.New(command.Config{
		Version:    Version,
		Params:     b.parameters,
		Databases:  cfg.Databases,
		TCPPort:    b.tcpPort(),
		MaxClients: cfg.MaxClients,
		Started:    time.Now(),
		RunID:      newRunID(),
		Shards:     cfg.ShardCount(),
		IO:         string(cfg.IO),
		Rejected:   b.rejected.Load,
		Executable: executable,
		ConfigFile: cfg.File,
	})
	b.group, err = shard.NewGroup(shard.Config{
		Shards:   cfg.ShardCount(),
		Driver:   string(cfg.IO),
		Handle:   commands.Handle,
		EndRun:   commands.EndRun,
		NewLocal: commands.NewLocal,
		Ended:    commands.Ended,
		Settings: settings(&cfg),
		Limits:   resp.DefaultLimits(),
		Log:      log,
	})
	if err != nil {
		closeListeners(listeners)
		return nil, err
	}
	for _, l := range listeners {
		b.acceptors.Go(func() { b.accept(l) })
	}
	return b, nil
}

// Addrs returns the addresses that are listened on: those of the TCP port, the
// TLS port and the Unix socket, in this order.
func (b *Broker) Addrs() []net.Addr {
	addrs := make([]net.Addr, 0, len(b.listeners))
	for _, l := range b.listeners {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

// Shutdown accepts and reads nothing more, delivers what was acknowledged,
// flushes it until ctx ends, closes every connection and waits for every
// goroutine. It returns ctx's error when clients had to be cut off.
func (b *Broker) Shutdown(ctx context.Context) error {
	close(b.stopping)
	closeListeners(b.listeners)
	b.acceptors.Wait()
	b.handshakes.stop()
	err := b.group.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		b.log.Warn("some clients had not taken everything when the shutdown timeout ended")
	}
	return err
}

// parameters answers CONFIG GET. The ports that are in use are reported, also
// when the kernel chose them.
func (b *Broker) parameters(pattern string) [][2]string {
	cfg := b.cfg
	cfg.Port, cfg.TLSPort = b.tcpPort(), b.tlsPort()
	var out [][2]string
	for _, p := range cfg.Get(pattern) {
		out = append(out, [2]string{p.Name, p.Value})
	}
	return out
}

// tcpPort returns the TCP port that is listened on, or 0.
func (b *Broker) tcpPort() int { return portOf(b.listeners, false) }

// tlsPort returns the TLS port that is listened on, or 0.
func (b *Broker) tlsPort() int { return portOf(b.listeners, true) }

func portOf(ls []*listener, secure bool) int {
	for _, l := range ls {
		if addr, ok := l.Addr().(*net.TCPAddr); ok && l.tls == secure {
			return addr.Port
		}
	}
	return 0
}

// settings returns what the loops take from cfg and can be told anew.
func settings(cfg *config.Config) shard.Settings {
	return shard.Settings{
		NormalLimit:      outputLimit(cfg.OutputLimits.Normal),
		PubSubLimit:      outputLimit(cfg.OutputLimits.PubSub),
		ReplicaLimit:     outputLimit(cfg.OutputLimits.Replica),
		QueryBufferBytes: int(min(cfg.QueryLimitBytes, math.MaxInt)),
		BulkBytes:        int(min(cfg.BulkLimitBytes, math.MaxInt)),
	}
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
