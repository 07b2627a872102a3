package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// A target is the server under test.
type target struct {
	port  int
	pid   int
	proto protocol
}

// A timing says how long a run lasts and when it is to be given up.
type timing struct {
	warm time.Duration // load before the clock starts
	dur  time.Duration // load while it runs
	// stall is how long the server may be silent while it owes something.
	stall time.Duration
	// growthBytes ends a stall workload when the server's resident memory has
	// grown by as much.
	growthBytes int64
}

const (
	readBytes     = 1 << 20 // read buffer, shared by all connections
	eventCount    = 4096    // events taken per turn
	setupTimeout  = 20      // seconds a blocking call may take before the clock starts
	blockMillis   = 200     // longest sleep of a turn; bounds how late a cancel is seen
	patternConns  = 10      // connections that hold the patterns of a workload
	existingConns = 100     // connections that hold its existing channels
	namesPerBatch = 200     // names per SUBSCRIBE while setting up
)

var (
	errClosed = errors.New("the server closed a connection")
	errSilent = errors.New("the server is silent but owes replies or messages")
	errTotals = errors.New("the server did not send what the workload must produce")
)

// A conn is one connection of the generator, owned by its loop.
type conn struct {
	fd int
	// out[sent:] is what the socket has not taken yet. The slice is reused
	// from batch to batch.
	out  []byte
	sent int
	// owed is the number of lines the server still owes for what was sent; it
	// is meaningless on a subscriber.
	owed       int
	subscriber bool
	waiting    bool // for the socket to become writable
}

// A generator loads one server once. It belongs to the goroutine that runs it,
// which is locked to its OS thread meanwhile.
type generator struct {
	w  workload
	t  target
	tm timing

	ep     int
	fds    []int
	conns  []*conn // by the number in their epoll event
	events []unix.EpollEvent
	buf    []byte
	heard  time.Time // when a turn last had events
}

// measureRun drives the server through one run of w. It blocks until the run
// is over or ctx is cancelled, which it notices within about blockMillis.
func measureRun(ctx context.Context, w workload, t target, tm timing) (sample, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The loop allocates next to nothing, and a collection would be mistaken
	// for a slow server.
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))

	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return sample{}, fmt.Errorf("create epoll: %w", err)
	}
	g := &generator{
		w: w, t: t, tm: tm, ep: ep,
		events: make([]unix.EpollEvent, eventCount),
		buf:    make([]byte, readBytes),
		heard:  time.Now(),
	}
	defer g.close()

	var s sample
	switch w.Drive {
	case drivePublish:
		s, err = g.publish(ctx)
	case driveLockstep:
		s, err = g.lockstep(ctx)
	case driveChurn:
		s, err = g.churn(ctx)
	case driveIdle:
		s, err = g.idle(ctx)
	case driveStall:
		s, err = g.stall(ctx)
	default:
		panic("bench: a workload without a drive")
	}
	if err != nil {
		return sample{}, err
	}
	s.measureBy(w.By)
	return s, nil
}

func (g *generator) close() {
	for _, fd := range g.fds {
		_ = unix.Close(fd)
	}
	_ = unix.Close(g.ep)
}

// watch makes c non-blocking and part of the loop.
func (g *generator) watch(c *conn) error {
	if err := unix.SetNonblock(c.fd, true); err != nil {
		return fmt.Errorf("set non-blocking: %w", err)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(len(g.conns))}
	if err := unix.EpollCtl(g.ep, unix.EPOLL_CTL_ADD, c.fd, &ev); err != nil {
		return fmt.Errorf("watch a connection: %w", err)
	}
	g.conns = append(g.conns, c)
	return nil
}

// turn waits for events and returns their number. A polling workload never
// sleeps; the others sleep at most blockMillis and may return zero. It fails
// with errSilent after timing.stall without an event, and with the context's
// error when ctx is cancelled.
func (g *generator) turn(ctx context.Context) (int, error) {
	for {
		n, errno := pollRaw(g.ep, g.events)
		if n == 0 && errno == 0 && !g.w.Poll {
			var err error
			if n, err = unix.EpollWait(g.ep, g.events, blockMillis); err != nil && err != unix.EINTR {
				return 0, fmt.Errorf("epoll wait: %w", err)
			}
		} else if errno != 0 && errno != unix.EINTR {
			return 0, fmt.Errorf("epoll wait: %w", errno)
		}
		now := time.Now()
		if n > 0 {
			g.heard = now
			return n, ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if now.Sub(g.heard) > g.tm.stall {
			return 0, errSilent
		}
		if !g.w.Poll {
			return 0, nil
		}
	}
}

// ready does the I/O an event asks for and returns the connection and what was
// read from it, which is valid until the next call.
func (g *generator) ready(ev *unix.EpollEvent) (*conn, []byte, error) {
	c := g.conns[ev.Fd]
	if ev.Events&unix.EPOLLOUT != 0 {
		if err := g.flush(c); err != nil {
			return c, nil, err
		}
	}
	if ev.Events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
		return c, nil, nil
	}
	n, errno := readRaw(c.fd, g.buf)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return c, nil, nil
	case errno != 0:
		return c, nil, fmt.Errorf("read: %w", errno)
	case n == 0:
		return c, nil, errClosed
	}
	return c, g.buf[:n], nil
}

// flush writes what c has to send until the socket is full.
func (g *generator) flush(c *conn) error {
	for c.sent < len(c.out) {
		n, errno := writeRaw(c.fd, c.out[c.sent:])
		switch errno {
		case 0:
			c.sent += n
		case unix.EINTR:
		case unix.EAGAIN:
			return g.awaitWritable(c, true)
		default:
			return fmt.Errorf("write: %w", errno)
		}
	}
	c.out, c.sent = c.out[:0], 0
	return g.awaitWritable(c, false)
}

func (g *generator) awaitWritable(c *conn, on bool) error {
	if c.waiting == on {
		return nil
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN}
	if on {
		ev.Events |= unix.EPOLLOUT
	}
	for i, other := range g.conns { // rare: a batch outgrew the socket's buffer
		if other == c {
			ev.Fd = int32(i)
		}
	}
	if err := unix.EpollCtl(g.ep, unix.EPOLL_CTL_MOD, c.fd, &ev); err != nil {
		return fmt.Errorf("watch a connection: %w", err)
	}
	c.waiting = on
	return nil
}

// A load is what the requesting connections of a run send, and what the server
// owes them for it.
type load struct {
	fill  func([]byte) []byte // appends one batch
	ops   int                 // operations per batch
	lines int                 // of the replies to a batch
	bytes int64               // of the replies to a batch; exact protocols only

	deliveries   int   // per operation
	messageBytes int64 // per operation, to all subscribers together
	window       int64 // bytes the subscribers may be behind
}

// publishLoad returns the load of batches of pipeline messages.
func (g *generator) publishLoad() load {
	w, p := g.w, g.t.proto
	channel := fmt.Sprintf(channelForm, 0)
	payload := bytes.Repeat([]byte{'x'}, w.PayloadBytes)
	one := newTemplate(p.appendPublish(nil, channel, payload), channel)
	l := load{
		ops:          w.Pipeline,
		deliveries:   w.Subscribers + w.Matching,
		messageBytes: int64(w.Subscribers) * p.messageBytes("", channel, w.PayloadBytes),
	}
	for _, pattern := range matchingPatterns[:w.Matching] {
		l.messageBytes += p.messageBytes(pattern, channel, w.PayloadBytes)
	}
	l.lines, l.bytes = p.publishReplies(w.Pipeline, l.deliveries)
	l.window = windowBytes(l.deliveries, l.messageBytes)
	draw := rand.New(rand.NewPCG(1, 2)) // every server sees the same channels
	l.fill = func(dst []byte) []byte {
		for range w.Pipeline {
			n := 0
			if w.Channels > 1 {
				n = draw.IntN(w.Channels)
			}
			dst = one.appendTo(dst, n)
		}
		return p.endBatch(dst)
	}
	return l
}

func (g *generator) publish(ctx context.Context) (sample, error) {
	if err := g.subscribeAll(ctx, true); err != nil {
		return sample{}, err
	}
	senders, err := g.openSenders(ctx, g.w.Publishers)
	if err != nil {
		return sample{}, err
	}
	return g.saturate(ctx, senders, g.publishLoad())
}

func (g *generator) churn(ctx context.Context) (sample, error) {
	if err := g.subscribeAll(ctx, true); err != nil {
		return sample{}, err
	}
	if err := g.holdExisting(ctx); err != nil {
		return sample{}, err
	}
	churners, err := g.openSenders(ctx, g.w.Churners)
	if err != nil {
		return sample{}, err
	}
	// Each churner keeps one subscription, so that it stays in whatever mode a
	// server gives connections that have some.
	for i, c := range churners {
		if err := g.subscribeOne(c, false, fmt.Sprintf("hold%07d", i)); err != nil {
			return sample{}, err
		}
	}
	w, p := g.w, g.t.proto
	hot := w.Channels == 1
	channel := fmt.Sprintf("own%07d", 0)
	if hot {
		channel = fmt.Sprintf(channelForm, 0)
	}
	pair := newTemplate(p.appendPair(nil, channel), channel)
	l := load{ops: w.Pipeline}
	l.lines, l.bytes = p.pairReplies(w.Pipeline, channel, 1)
	next := 0
	l.fill = func(dst []byte) []byte {
		for range w.Pipeline {
			dst = pair.appendTo(dst, next)
			if !hot {
				next = (next + 1) % maxChannels
			}
		}
		return p.endBatch(dst)
	}
	return g.saturate(ctx, churners, l)
}

// saturate keeps one batch of every sender in flight, holding back while the
// subscribers are more than the window behind, and measures tm.dur of that
// after tm.warm. Then it waits until the server has sent everything it owes
// and checks the totals.
func (g *generator) saturate(ctx context.Context, senders []*conn, l load) (sample, error) {
	for _, c := range senders {
		if err := g.watch(c); err != nil {
			return sample{}, err
		}
	}
	var (
		asked, done       int64 // operations
		replied, received int64 // bytes
		parked            []*conn
		begin, end        snapshot
		doneAt, recvAt    int64 // at begin
		s                 sample
	)
	ask := func(c *conn) error {
		c.out = l.fill(c.out)
		c.owed += l.lines
		asked += int64(l.ops)
		return g.flush(c)
	}
	for _, c := range senders {
		if err := ask(c); err != nil {
			return s, err
		}
	}

	const (
		warming = iota
		measuring
		draining
	)
	phase, deadline := warming, time.Now().Add(g.tm.warm)
	for phase != draining || done < asked || (g.t.proto.exact() && received < asked*l.messageBytes) {
		progress, doneBefore, receivedBefore := false, done, received
		n, err := g.turn(ctx)
		if err != nil {
			if errors.Is(err, errSilent) {
				err = fmt.Errorf("%w: %d of %d operations answered, %d of %d bytes delivered",
					err, done, asked, received, asked*l.messageBytes)
			}
			return s, err
		}
		for i := range n {
			c, in, err := g.ready(&g.events[i])
			if err != nil {
				return s, err
			}
			if c.subscriber {
				received += int64(len(in))
				continue
			}
			if len(in) == 0 {
				continue
			}
			replied += int64(len(in))
			c.owed -= bytes.Count(in, []byte{'\n'})
			if c.owed > 0 || len(c.out) > 0 {
				continue
			}
			done += int64(l.ops)
			progress = true
			switch {
			case phase == draining:
			case asked*l.messageBytes-received > l.window:
				parked = append(parked, c)
			default:
				if err := ask(c); err != nil {
					return s, err
				}
			}
		}
		for phase != draining && len(parked) > 0 && asked*l.messageBytes-received <= l.window {
			c := parked[len(parked)-1]
			parked = parked[:len(parked)-1]
			if err := ask(c); err != nil {
				return s, err
			}
		}
		// A slow server answers in bursts, one per turn of its own. The clock
		// starts and stops as one begins, before what it brings is counted, so
		// that the CPU time between belongs to as many bursts as are counted.
		if phase == draining || !progress || time.Now().Before(deadline) {
			continue
		}
		now, err := takeSnapshot(g.t.pid)
		if err != nil {
			return s, err
		}
		if phase == warming {
			begin, doneAt, recvAt = now, doneBefore, receivedBefore
			phase, deadline = measuring, now.at.Add(g.tm.dur)
			continue
		}
		end, phase = now, draining
		s.Ops = doneBefore - doneAt
		if l.messageBytes > 0 {
			s.Deliveries = (receivedBefore - recvAt) * int64(l.deliveries) / l.messageBytes
		}
	}
	s.spent(begin, end)
	if g.t.proto.exact() {
		batches := asked / int64(l.ops)
		if replied != batches*l.bytes || received != asked*l.messageBytes {
			return s, fmt.Errorf("%w: %d bytes of replies where %d are due, %d bytes of messages where %d are due",
				errTotals, replied, batches*l.bytes, received, asked*l.messageBytes)
		}
	}
	return s, nil
}

// spent fills in what was used from a to b.
func (s *sample) spent(a, b snapshot) {
	s.Seconds = b.at.Sub(a.at).Seconds()
	server, own := b.server-a.server, b.generator-a.generator
	s.ServerCPUSeconds = server.Seconds()
	s.UserSeconds = (b.user - a.user).Seconds()
	s.SystemSeconds = (b.system - a.system).Seconds()
	s.ContextSwitches = switchesBetween(a.switches, b.switches)
	s.TCPPressures = b.pressures - a.pressures
	s.RSSBytes = b.rssBytes
	s.RSSGrowthBytes = b.rssBytes - a.rssBytes
	if s.Seconds > 0 {
		s.GeneratorCores = own.Seconds() / s.Seconds
		s.ForeignCores = max(0, (b.busy-a.busy-server-own).Seconds()) / s.Seconds
		s.StealCores = (b.steal - a.steal).Seconds() / s.Seconds
	}
}
