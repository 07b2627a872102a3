package shard

import (
	"net/netip"
	"time"

	"broker/channelstore"
	"broker/resp"
)

// A Session is our state for one connection. It belongs to one loop, whose
// goroutine alone touches it (invariant one-loop). An idle session owns no
// buffers.
type Session struct {
	// Immutable after adoption.
	loop    *Loop
	id      uint64
	created int64 // nanoseconds since the group's start
	remote  netip.AddrPort
	nc      *netConn // the connection where it is a net.Conn, else nil

	// Owned by the loop.
	fd          int32  // the socket, -1 once closed and where nc is the connection
	index       int32  // in loop.sessions
	watched     uint32 // events the epoll driver asked for
	proto       resp.Proto
	state       sessionState
	reason      CloseReason // once closing
	suspended   bool        // executes no commands until resumed
	queued      bool        // stands in loop.ready
	dirty       bool        // stands in loop.dirty
	blocked     bool        // the socket takes no more; waiting until it does
	deaf        bool        // the socket is not being read
	throttled   bool        // deaf because of its own unread replies
	unix        bool
	counts      [3]int32 // subscriptions by channelstore.Kind
	in          *input   // an incomplete command, or commands that wait
	out         *outbox  // what is still to be sent
	subs        subscriptions
	attrs       *Attrs
	lastCommand string
	lastActive  int64  // nanoseconds since the group's start
	softSince   int64  // when the soft limit was first exceeded, 0: it is not; when lingering began
	next        func() // continuation of a command that takes several turns
}

type sessionState uint8

const (
	// open: commands are read and run.
	open sessionState = iota
	// closing: nothing is read any more; closed once the outbox is flushed.
	closing
	// lingering: everything is written; waiting until the client has it.
	lingering
	// closed: torn down. Only in-flight batches still refer to the session.
	closed
)

// Attrs are what the command layer keeps about a session, most of it what the
// client told about itself. They mean nothing to the shard. Attrs are compared
// with ==, so Tracking holds a pointer.
type Attrs struct {
	Name, LibName, LibVer string
	DB                    int
	NoEvict, NoTouch      bool // CLIENT NO-EVICT and CLIENT NO-TOUCH
	Killed                bool // CLIENT KILL has ended it; it is torn down after this turn
	Tracking              any  // what CLIENT TRACKING has switched on; nil: nothing
}

// An input holds the unconsumed bytes of a session: one incomplete command,
// or complete ones that a suspended session has not run yet.
type input struct {
	buf     []byte
	partial resp.Partial
}

// ID returns the session's number, unique in the life of the group.
func (s *Session) ID() uint64 { return s.id }

// Proto returns the protocol version that the session speaks.
func (s *Session) Proto() resp.Proto { return s.proto }

// SetProto changes the protocol of everything appended from now on.
func (s *Session) SetProto(p resp.Proto) {
	s.proto = p
	if s.out != nil {
		s.out.w.Proto = p
	}
}

// Loop returns the loop that owns the session.
func (s *Session) Loop() *Loop { return s.loop }

// Store returns the group's store.
func (s *Session) Store() *channelstore.Store[*Session] { return s.loop.group.store }

// Reply returns the writer behind everything that the session already has to
// send. It is valid until the next call of a method that may deliver
// (Subscribe, Unsubscribe, DropSubscriptions, Gather) and at most until Handle
// returns.
func (s *Session) Reply() *resp.Writer {
	if s.out == nil || !s.dirty {
		s.touch()
	}
	return &s.out.w
}

// touch borrows an outbox if there is none and makes sure that it is flushed
// in this turn.
func (s *Session) touch() {
	if s.out == nil {
		s.out = s.loop.borrowOutbox()
		s.out.w.Proto = s.proto
		if s.out.w.B == nil {
			s.out.w.B = make([]byte, 0, firstBytes)
		}
	}
	s.markDirty()
}

func (s *Session) markDirty() {
	if !s.dirty {
		s.dirty = true
		s.loop.dirty = append(s.loop.dirty, s)
	}
}

// Attrs returns the session's attributes for writing.
func (s *Session) Attrs() *Attrs {
	if s.attrs == nil {
		s.attrs = &Attrs{}
	}
	return s.attrs
}

// Peek returns the session's attributes for reading; it allocates nothing.
func (s *Session) Peek() Attrs {
	if s.attrs == nil {
		return Attrs{}
	}
	return *s.attrs
}

// SetLastCommand records the full name of the command that runs, for Info.
func (s *Session) SetLastCommand(name string) { s.lastCommand = name }

// CloseAfterReply runs no further command and closes the connection once
// everything appended so far has been sent.
func (s *Session) CloseAfterReply() { s.loop.finish(s, CloseByCommand) }

// CloseNow closes the connection at the end of the turn without sending
// anything more.
func (s *Session) CloseNow() { s.loop.doom(s, CloseByCommand) }

// suspend stops the session's commands until resumeAfter; the rest of what was
// read waits.
func (s *Session) suspend() { s.suspended = true }

// resumeAfter ends a suspension with f, and lets the session's commands go on
// unless f has suspended it again. A panic in f is the session's.
func (s *Session) resumeAfter(f func()) {
	s.loop.current = s
	s.suspended = false
	f()
	if !s.suspended {
		s.loop.enqueue(s)
	}
}

// Info is a snapshot of a session for people.
type Info struct {
	ID                     uint64
	Addr, LocalAddr        string
	FD                     int // -1 where there is none
	Attrs                  Attrs
	Created, LastActive    time.Time
	LastCommand            string
	Sub, PSub, SSub        int
	QueryBuf, QueryBufFree int
	OutBufLen              int   // bytes in the session's own copy buffer
	OutListLen             int   // segments that are queued
	OutMem                 int64 // bytes owed, shared or not
	TotMem                 int64 // estimate of everything charged to the session
	Proto                  resp.Proto
	Readable, Writable     bool // events the driver waits for
	Closing, Unix          bool
}

// sessionBytes estimates what a session costs beside its buffers and
// subscriptions.
const sessionBytes = 320

// subscriptionBytes estimates what one subscription costs.
const subscriptionBytes = 96

// Info describes the session as it is now.
func (s *Session) Info() Info {
	g := s.loop.group
	in := Info{
		ID:          s.id,
		FD:          int(s.fd),
		Attrs:       s.Peek(),
		Created:     g.started.Add(time.Duration(s.created)),
		LastActive:  g.started.Add(time.Duration(s.lastActive)),
		LastCommand: s.lastCommand,
		Sub:         int(s.counts[channelstore.Channels]),
		PSub:        int(s.counts[channelstore.Patterns]),
		SSub:        int(s.counts[channelstore.ShardChannels]),
		Proto:       s.proto,
		Readable:    !s.deaf,
		Writable:    s.blocked,
		Closing:     s.state != open,
		Unix:        s.unix,
	}
	if s.nc != nil {
		in.FD = s.nc.fd
	}
	in.Addr, in.LocalAddr = s.loop.driver.addrs(s)
	if s.in != nil {
		in.QueryBuf = len(s.in.buf)
		in.QueryBufFree = cap(s.in.buf) - len(s.in.buf)
	}
	in.TotMem = sessionBytes + int64(len(s.subs.list))*subscriptionBytes + int64(in.QueryBuf+in.QueryBufFree)
	if o := s.out; o != nil {
		in.OutBufLen = len(o.w.B) - o.mark
		in.OutListLen = len(o.segments) - o.head
		in.OutMem = o.bytes
		in.TotMem += o.pending()
	}
	return in
}
