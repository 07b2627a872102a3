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
	diverted    bool        // muted, or behind is not nil: see Reply
	muted       bool        // replies are discarded; see Mute
	notifyDrops bool        // see NotifyDrops
	marked      bool        // see Mark
	anonymous   bool        // has yet to authenticate
	exempt      bool        // from the idle timeout; see SetExempt
	throttled   bool        // deaf because of its own unread replies
	unix        bool
	counts      [3]int32    // subscriptions by channelstore.Kind
	in          *input      // an incomplete command, or commands that wait
	out         *outbox     // what is still to be sent
	held        *outbox     // what is delivered during HoldDeliveries; else nil
	behind      *backlog    // what stands behind out for a session that may lose messages; else nil
	slow        *SlowPolicy // its own policy; nil: none
	user        string      // see SetUser
	dropped     int64       // messages lost
	dropLogged  int64       // when its losses were last logged; 0: never
	behindSince int64       // when it began to owe the client something; 0: it does not
	subs        subscriptions
	attrs       *Attrs
	lastCommand string
	lastActive  int64  // nanoseconds since the group's start
	since       int64  // when it began to be anonymous
	softSince   int64  // when the soft limit was first exceeded, 0: it is not; when lingering began
	extra       int64  // bytes; see SetExtraMemory
	charged     int64  // bytes owed that are counted in loop.owed
	next        func() // continuation of a command that takes several turns
	then        func() // see AfterCommand
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
// with ==, so State holds a pointer.
type Attrs struct {
	Name, LibName, LibVer string
	DB                    int
	NoEvict, NoTouch      bool // CLIENT NO-EVICT and CLIENT NO-TOUCH
	State                 any  // what else the command layer remembers, a pointer; nil: nothing
}

// An input holds the unconsumed bytes of a session: one incomplete command,
// or complete ones that a suspended session has not run yet.
type input struct {
	buf     []byte
	partial resp.Partial
}

// ID returns the session's number, unique in the life of the group.
func (s *Session) ID() uint64 { return s.id }

// Addr returns the client's address, as Redis prints it.
func (s *Session) Addr() string {
	if s.remote.IsValid() {
		return s.remote.String()
	}
	remote, _ := s.loop.driver.addrs(s)
	return remote
}

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
// anything more. When it returns, no later PUBLISH counts the session, unless
// it holds more than reapSlice subscriptions. It is called on the session's
// loop.
func (s *Session) CloseNow(reason CloseReason) {
	if s.state != closed {
		s.loop.doom(s, reason)
		s.loop.leaveStore(s)
	}
}

// Closed reports whether the session has ended, or ends with this turn.
func (s *Session) Closed() bool { return s.state == closed }

// Mark makes Marked true for the command layer, which looks at nothing else
// of a session that is as good as new.
func (s *Session) Mark(marked bool) { s.marked = marked }

// Marked returns what Mark was last told.
func (s *Session) Marked() bool { return s.marked }

// SetAnonymous says whether the session has yet to authenticate. Until then
// its commands must be small, few bytes of replies may be left unread, and
// AuthTimeout runs.
func (s *Session) SetAnonymous(anonymous bool) {
	s.anonymous = anonymous
	if anonymous {
		s.since = s.loop.now
		s.loop.await(s)
	}
}

// SetExempt says whether the idle timeout passes the session over, as it does
// subscribers, and the output limit of a session that is fed without asking
// (ReplicaLimit) applies.
func (s *Session) SetExempt(exempt bool) { s.exempt = exempt }

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
	Suspended              bool // a command is not finished
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
		Suspended:   s.suspended,
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
	if o := s.out; o != nil {
		in.OutBufLen = len(o.w.B) - o.mark
		in.OutListLen = len(o.segments) - o.head
	}
	if o := s.held; o != nil {
		in.OutListLen += len(o.segments) - o.head
	}
	if q := s.behind; q != nil {
		in.OutListLen += len(q.entries) - q.head - q.dead
	}
	in.OutMem = s.pending() - int64(in.OutBufLen)
	in.TotMem = s.memory()
	return in
}

// memory estimates the bytes that are charged to the session: everything it is
// owed (shared or not), what it has sent of commands that are not run yet, and
// its subscriptions.
func (s *Session) memory() int64 {
	n := s.fixedMemory() + s.pending()
	return n
}

// fixedMemory is memory without what the session is owed.
func (s *Session) fixedMemory() int64 {
	n := sessionBytes + int64(len(s.subs.list))*subscriptionBytes + s.extra
	if s.in != nil {
		n += int64(cap(s.in.buf))
	}
	return n
}

// SetExtraMemory charges bytes that the command layer keeps for the session.
func (s *Session) SetExtraMemory(bytes int64) { s.extra = bytes }
