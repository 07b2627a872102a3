package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"broker/channelstore"
	"broker/resp"
)

// Config configures a Group. The zero value of a field means what its comment
// says; nothing changes after NewGroup.
type Config struct {
	// Shards is the number of loops, at least 1.
	Shards int

	// Driver is "epoll" or "net".
	Driver string

	// Handle runs one complete command of s on its loop. args has at least one
	// element; the slices are valid during the call only.
	Handle func(s *Session, args [][]byte)

	// EndRun, if not nil, is called after the last command of one read.
	EndRun func(l *Loop)

	// NewLocal, if not nil, makes the value that Loop.Local returns.
	NewLocal func(shard int) any

	// Opened, if not nil, is called on the loop that adopts a session, before
	// its first command.
	Opened func(s *Session)

	// Ended, if not nil, is called on the session's loop once when it is torn
	// down, for what the command layer keeps about it elsewhere.
	Ended func(s *Session)

	// Settings are what can be changed later.
	Settings

	// ReplyBacklogBytes is the number of unread bytes from which a session that
	// has no hard limit is not read any more until half of them are gone: a
	// client that asks and never reads must not grow the process without
	// bound. 0 means 64 MiB.
	ReplyBacklogBytes int64

	// Limits are checked while commands are parsed. BulkBytes is taken from
	// Settings.
	Limits resp.Limits

	// Log receives what an operator should know; never one line per message.
	Log *slog.Logger
}

// A Group is a fixed number of loops over one store. Its methods may be called
// from any goroutine, but not from a loop's.
type Group struct {
	// Immutable after NewGroup.
	cfg     Config
	store   *channelstore.Store[*Session]
	loops   []*Loop
	started time.Time

	// order is held while a batch is pushed to several inboxes, and for
	// nothing else (invariant total-order).
	order sync.Mutex

	// Atomic.
	nextID       atomic.Uint64
	sessions     atomic.Int64 // adopted and not torn down
	nextHelloLog atomic.Int64 // see refuseHello
	memory       atomic.Int64 // bytes charged to sessions, as the loops last reported; see evict.go
	evicting     atomic.Bool  // an eviction is under way

	loopsDone sync.WaitGroup // ends with the last loop
	helpers   sync.WaitGroup // readers and writers of net.Conns
}

// ErrStopped is returned by Adopt once the group shuts down.
var ErrStopped = errors.New("shard: the group is shut down")

// NewGroup returns a group whose loops run until Shutdown.
func NewGroup(cfg Config) (*Group, error) {
	if cfg.Shards < 1 {
		return nil, fmt.Errorf("shard: %d shards", cfg.Shards)
	}
	if cfg.ReplyBacklogBytes == 0 {
		cfg.ReplyBacklogBytes = defaultReplyBacklogBytes
	}
	g := &Group{
		cfg:     cfg,
		store:   channelstore.New[*Session](cfg.Shards),
		started: time.Now(),
	}
	for i := range cfg.Shards {
		d, err := newDriver(cfg.Driver, g)
		if err != nil {
			for _, l := range g.loops {
				l.driver.close()
			}
			return nil, err
		}
		g.loops = append(g.loops, newLoop(g, i, d))
	}
	for _, l := range g.loops {
		g.loopsDone.Go(l.run)
	}
	return g, nil
}

// Store returns the store that all loops share.
func (g *Group) Store() *channelstore.Store[*Session] { return g.store }

// Sessions returns the number of sessions that are adopted and not torn down.
func (g *Group) Sessions() int { return int(g.sessions.Load()) }

// A Conn is a connection to adopt: FD or, if not nil, Net. The net driver
// takes Net only; the epoll driver takes both, and FD costs less.
type Conn struct {
	FD     int      // non-blocking socket; the group owns it from now on
	Net    net.Conn // likewise; after its handshake, if it has one
	Remote netip.AddrPort
	Unix   bool // a Unix domain socket: Remote is not valid
}

// Adopt gives a connection to the loop with the fewest sessions.
func (g *Group) Adopt(c Conn) {
	best := g.loops[0]
	least := best.load.Load()
	for _, l := range g.loops[1:] {
		if n := l.load.Load(); n < least {
			best, least = l, n
		}
	}
	best.load.Add(1)
	g.sessions.Add(1)
	s := &Session{
		loop:   best,
		id:     g.nextID.Add(1),
		remote: c.Remote,
		unix:   c.Unix,
		fd:     int32(c.FD),
		proto:  resp.RESP2,
	}
	if c.Net != nil {
		s.fd = -1
		s.nc = newNetConn(best, c.Net)
	}
	best.post(func(l *Loop) { l.adopt(s) })
}

// adopt begins to serve a session.
func (l *Loop) adopt(s *Session) {
	s.created = l.now
	s.lastActive = l.now
	s.index = int32(len(l.sessions))
	l.sessions = append(l.sessions, s)
	l.stats.Connections++
	if l.draining {
		l.doom(s, CloseByShutdown)
		return
	}
	if l.group.cfg.Opened != nil {
		l.group.cfg.Opened(s)
	}
	if err := l.driver.add(s); err != nil {
		l.group.cfg.Log.Error("cannot watch a connection", "error", err)
		l.doom(s, CloseByClient)
	}
}

// Each runs f on every loop and returns when all have run it.
func (g *Group) Each(f func(*Loop)) {
	var all sync.WaitGroup
	all.Add(len(g.loops))
	for _, l := range g.loops {
		l.post(func(l *Loop) {
			defer all.Done()
			f(l)
		})
	}
	all.Wait()
}

// Gather runs collect on every loop and then done on s's own loop, with the
// results in the order of the shards. s runs no further command until done has
// returned; done is not called when s ends first. collect may read only what
// its loop owns. A panic in collect is logged, and is the end of s.
func Gather[R any](s *Session, collect func(*Loop) R, done func([]R)) {
	own := s.loop
	g := own.group
	results := make([]R, len(g.loops))
	results[own.id] = collect(own)
	waiting := len(g.loops) - 1
	if waiting == 0 {
		done(results)
		return
	}
	s.suspend()
	for _, o := range g.loops {
		if o == own {
			continue
		}
		o.post(func(o *Loop) {
			answered := false
			defer func() {
				if !answered {
					own.post(func(l *Loop) { l.doom(s, CloseByPanic) })
				}
			}()
			r := collect(o)
			answered = true
			own.post(func(l *Loop) {
				results[o.id] = r
				waiting--
				if waiting > 0 || s.state == closed {
					return
				}
				s.resumeAfter(func() { done(results) })
			})
		})
	}
}

// Shutdown stops reading commands, delivers and flushes what was
// acknowledged, closes every session and waits for the loops to end. Sessions
// that have not taken everything when ctx ends are cut off. Adopt must not be
// called any more.
func (g *Group) Shutdown(ctx context.Context) error {
	// First nobody publishes any more, then everything that was published is in
	// the inboxes, ahead of what is posted now.
	g.Each(func(l *Loop) { l.draining = true })
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Hour)
	}
	g.Each(func(l *Loop) { l.beginStop(deadline) })
	ended := make(chan struct{})
	go func() {
		g.loopsDone.Wait()
		g.helpers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	for _, l := range g.loops {
		l.post(func(l *Loop) { l.stopAt = 1 })
	}
	<-ended
	return ctx.Err()
}

// beginStop ends every session in good order.
func (l *Loop) beginStop(deadline time.Time) {
	l.stopAt = max(1, int64(deadline.Sub(l.group.started)))
	for _, s := range l.sessions {
		l.finish(s, CloseByShutdown)
	}
}

// stopIfDrained ends the loop when its last session is gone, or when the time
// for that is over.
func (l *Loop) stopIfDrained() {
	if l.now >= l.stopAt {
		for _, s := range l.sessions {
			l.doom(s, CloseByShutdown)
		}
		l.bury()
	}
	for len(l.reaping) > 0 && len(l.sessions) == 0 {
		l.reap()
	}
	l.stopped = len(l.sessions) == 0
}
