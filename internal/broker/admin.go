package broker

import (
	"context"
	"fmt"
	"net"
	"sync"

	"broker/internal/admin"
	"broker/internal/command"
	"broker/internal/config"
	"broker/internal/dashboard"
	"broker/internal/metrics"
	"broker/shard"
)

// An adminListener is the HTTP listener for those who run the broker. It
// outlives the loops, so that /readyz can say that they end. Its methods do
// nothing on nil.
type adminListener struct {
	net.Listener
	server  *admin.Server // nil until serveAdmin
	serving sync.WaitGroup

	// scraping is held for reading while the loops are asked for their
	// counters, and by who ends that.
	scraping sync.RWMutex
	// Guarded by scraping. Once set no loop may be asked: it may be gone.
	ended bool
}

// openAdmin opens the listener at addr; "" opens none.
func openAdmin(addr string) (*adminListener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("Could not create the admin listening socket %s: %w", addr, rootCause(err))
	}
	return &adminListener{Listener: l}, nil
}

// serveAdmin runs the listener.
func (b *Broker) serveAdmin(commands *command.Dispatcher, cfg *config.Config) {
	a := b.admin
	source := func() (metrics.State, bool) {
		a.scraping.RLock()
		defer a.scraping.RUnlock()
		if a.ended {
			return metrics.State{}, false
		}
		return metrics.State{
			Snapshot:   commands.Snapshot(b.group, cfg.AdminTopChannels),
			MaxClients: b.current.Load().cfg.MaxClients,
		}, true
	}
	served := admin.Config{
		Metrics: metrics.Handler(source, b.log),
		Ready:   b.ready,
		Dashboard: dashboard.New("/dashboard/", dashboard.Config{
			Dial:     b.dialInside,
			Stopping: b.stopping,
		}),
		Pprof: cfg.AdminPprof,
		Log:   b.log,
	}
	if cfg.AdminAuth {
		served.Authorize = commands.MayInspect
	}
	a.server = admin.New(served)
	a.serving.Go(func() {
		if err := a.server.Serve(a); err != nil {
			b.log.Error("the admin listener ended", "error", err)
		}
	})
}

// dialInside returns the client's end of a connection that stays inside the
// process. Its session is one like any other.
func (b *Broker) dialInside() (net.Conn, error) {
	a := b.admin
	a.scraping.RLock()
	defer a.scraping.RUnlock()
	if a.ended {
		return nil, net.ErrClosed
	}
	ours, theirs := net.Pipe()
	b.group.Adopt(shard.Conn{Net: theirs, Unix: true})
	return ours, nil
}

// ready reports whether new connections are taken.
func (b *Broker) ready() bool {
	select {
	case <-b.stopping:
		return false
	default:
		return true
	}
}

// AdminAddr returns the address of the admin listener; nil: there is none.
func (b *Broker) AdminAddr() net.Addr {
	if b.admin == nil {
		return nil
	}
	return b.admin.Addr()
}

// close closes a listener that was never served.
func (a *adminListener) close() {
	if a != nil {
		_ = a.Listener.Close()
	}
}

// endScrapes waits for the scrapes in progress and lets no other begin.
func (a *adminListener) endScrapes() {
	if a != nil {
		a.scraping.Lock()
		a.ended = true
		a.scraping.Unlock()
	}
}

// shutdown ends the listener; requests that last longer than ctx are cut off.
func (a *adminListener) shutdown(ctx context.Context) {
	if a != nil {
		a.server.Shutdown(ctx)
		a.serving.Wait()
	}
}
