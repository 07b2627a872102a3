package command

import (
	"broker/internal/acl"
	"bytes"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"broker/resp"
	"broker/shard"
)

// compatVersion is the version that INFO and HELLO report as Redis's. Clients
// gate features on it and refuse unparsable ones. It is the version whose
// observable behaviour is followed here (a publisher's own message after its
// reply, the fields of CLIENT LIST, the error texts), so that a client that
// knows what changed in which version finds what it expects.
const compatVersion = "8.0.6"

// Config is what a Dispatcher needs to know. It does not change after New.
type Config struct {
	// Version is the broker's own version, for INFO.
	Version string

	// Params returns the configuration parameters whose name matches a glob,
	// as name and value, for CONFIG GET; case does not count. It is called on
	// loops and must not block. nil: there are none.
	Params func(pattern string) [][2]string

	// SetParams changes the parameters that pairs name, all or none, for CONFIG
	// SET. The text of its error is the reply without the leading '-'. It is
	// called off the loops and may block. nil: no parameter is known.
	SetParams func(pairs [][2]string) error

	// Apply brings the loop it is called on up to date with the parameters. It
	// must not block. nil: there is nothing to do.
	Apply func(*shard.Loop)

	// RewriteParams writes the parameters to the file they came from, for
	// CONFIG REWRITE; otherwise it is like SetParams. nil: there is no file.
	RewriteParams func() error

	// ACLFile is the path of the file that ACL LOAD and ACL SAVE are about;
	// empty: there is none.
	ACLFile string

	// Log receives what an operator should know. nil: nobody is told.
	Log *slog.Logger

	// Databases is the number of indexes that SELECT accepts, at least 1.
	Databases int

	// Started is when the broker began to run.
	Started time.Time

	// RunID is 40 hexadecimal digits, different for every run.
	RunID string

	// Shards is the number of loops and IO the name of their driver, for INFO.
	Shards int
	IO     string

	// Rejected returns how many connections were refused over maxclients. It
	// is called on loops and must not block. nil: none ever is.
	Rejected func() int64

	// Cluster: the broker is a cluster of one node, see cluster.go.
	Cluster bool

	// DebugCommand says who may use DEBUG.
	DebugCommand DebugAccess

	// Shutdown begins to end the broker in an orderly way, for SHUTDOWN. It is
	// called on loops, must not block, and may be called again. nil: nothing
	// ends, and SHUTDOWN is not answered.
	Shutdown func()

	// ConfigFile and Executable are paths for INFO; empty: unknown.
	ConfigFile, Executable string
}

// A Dispatcher runs commands. Opened, Handle, EndRun, Ended and NewLocal are for
// the fields of the same names of shard.Config.
type Dispatcher struct {
	// Immutable after New.
	cfg     Config
	table   *table
	users   *acl.Store
	guesses *guesses

	// nodeID and clusterShardID name the one node of the cluster and its shard.
	nodeID, clusterShardID string

	// startMemory is what was in use at the start, in bytes.
	startMemory int64

	runtime      atomic.Pointer[Runtime] // see Configure; immutable
	alerts       atomic.Uint32           // see alert; written under mu
	monitorCount atomic.Int64            // sessions that monitor
	slowlog      slowlog

	mu sync.Mutex
	// Guarded by mu: CLIENT PAUSE.
	pause    pause
	pauseEnd *time.Timer // ends it; nil: none
	// Guarded by mu: what INFO remembers from one call to the next.
	rates      rates
	peakMemory int64 // bytes
	// rejectedBase is what Config.Rejected returned when CONFIG RESETSTAT was
	// last run.
	rejectedBase int64
}

// New returns a Dispatcher. It panics when cfg has no databases, which is a
// mistake of the caller's.
func New(cfg Config) *Dispatcher {
	if cfg.Databases < 1 {
		panic("command: Config.Databases is not positive")
	}
	if cfg.Params == nil {
		cfg.Params = func(string) [][2]string { return nil }
	}
	if cfg.SetParams == nil {
		cfg.SetParams = func(pairs [][2]string) error { return errors.New(unknownParameter(pairs[0][0])) }
	}
	if cfg.Apply == nil {
		cfg.Apply = func(*shard.Loop) {}
	}
	if cfg.RewriteParams == nil {
		cfg.RewriteParams = func() error { return errors.New(errNoConfigFile) }
	}
	if cfg.Shutdown == nil {
		cfg.Shutdown = func() {}
	}
	if cfg.Rejected == nil {
		cfg.Rejected = func() int64 { return 0 }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	d := &Dispatcher{cfg: cfg, table: newTable(), startMemory: readMemory().used,
		nodeID: clusterID(cfg.RunID, "node"), clusterShardID: clusterID(cfg.RunID, "shard"), guesses: newGuesses()}
	d.users = newUsers(d.table)
	d.Configure(Runtime{})
	return d
}

// A local is the part of the command layer that belongs to one loop.
type local struct {
	counters
	run runTimer

	// The most recent command name as it was sent, and its row: clients send
	// the same command again and again, in one spelling.
	lastName  [maxNameBytes]byte
	lastBytes int
	last      *command

	// The call that runs; its session is nil between calls. There is one per
	// loop so that a call allocates nothing. It is overwritten by the next
	// command, so a handler that finishes later keeps what it needs in
	// variables of its own.
	call call

	monitors monitors

	// paused let the sessions of this loop go on that CLIENT PAUSE holds back.
	paused []func()
}

// A call is one execution of a command, valid until the handler returns.
type call struct {
	d       *Dispatcher
	session *shard.Session
	local   *local
	cmd     *command
	args    [][]byte // the command itself first; owned by the caller of Handle
}

// reply returns the session's writer. It must be asked for again after a call
// of a Session method that may deliver.
func (c *call) reply() *resp.Writer { return c.session.Reply() }

// fail answers with an error, of which text is all but the leading '-'.
func (c *call) fail(text string) {
	c.local.failed(c.cmd.number, text)
	c.reply().Error(text)
}

// failLater returns fail for use after the handler has returned, when c may
// belong to another command.
func (c *call) failLater() func(text string) {
	s, l, number := c.session, c.local, c.cmd.number
	return func(text string) {
		l.failed(number, text)
		s.Reply().Error(text)
	}
}

// NewLocal returns the state that one loop owns.
func (d *Dispatcher) NewLocal(int) any {
	l := &local{counters: newCounters(len(d.table.rows))}
	l.call.d, l.call.local = d, l
	return l
}

// Handle runs one complete command of s on its loop. args has at least one
// element and is valid during the call only.
func (d *Dispatcher) Handle(s *shard.Session, args [][]byte) {
	l := s.Loop().Local().(*local)
	if l.call.session != nil {
		// The previous command paniced, so nobody has closed its run; the time
		// since then is not its.
		l.dropRun()
		l.call.session = nil
	}
	if s.Marked() || d.alerts.Load() != 0 {
		d.handleSpecial(s, l, args)
		return
	}
	cmd, refusal := d.resolve(s, l, args)
	switch {
	case refusal != "":
		l.reject(s, cmd, refusal)
	case cmd == nil: // closed
	case d.crossesSlots(nil, cmd, args):
		l.reject(s, cmd, errCrossSlot)
	case !cmd.inSubscriberMode && s.Subscribed() && s.Proto() == resp.RESP2:
		l.reject(s, cmd, notInSubscriberMode(cmd))
	default:
		if m := d.run(s, l, cmd, args); m != nil {
			s.AfterCommand(m.finish)
		}
	}
}

// resolve finds the row of a command and checks its arity. It returns why the
// command is refused, with its row if it has one. Without either the session
// has been closed.
func (d *Dispatcher) resolve(s *shard.Session, l *local, args [][]byte) (cmd *command, refusal string) {
	cmd = l.find(d.table, args[0])
	if cmd == nil {
		s.SetLastCommand("")
		if isForeign(args[0]) {
			l.httpRequests++
			s.CloseNow(shard.CloseByCommand)
			return nil, ""
		}
		return nil, unknownCommand(args)
	}
	if cmd.index != nil && len(args) > 1 {
		container := cmd
		cmd = lookup(container.index, args[1])
		if cmd == nil {
			s.SetLastCommand("")
			if container.clusterOnly && !d.cfg.Cluster {
				return nil, errNoCluster // which clients take for the answer, whatever they asked
			}
			return nil, unknownSubcommand(container, args[1])
		}
	}
	s.SetLastCommand(cmd.fullName)
	if !cmd.arityMatches(len(args)) {
		return cmd, wrongArity(cmd)
	}
	if cmd.restricted && !d.mayDebug(s) {
		return cmd, errDebugNotAllowed
	}
	return cmd, ""
}

// run executes a command that may be. If it is not finished, the measurement
// of its time is returned; the caller finishes that when the command is.
func (d *Dispatcher) run(s *shard.Session, l *local, cmd *command, args [][]byte) *measurement {
	byRun := cmd.frequent && len(args) <= maxRunArgs && !d.alerted(alertExact)
	since := int64(0)
	if byRun {
		l.extend(d, s, cmd, args)
	} else {
		since = s.Loop().Nanotime()
		l.endRun(d, since)
	}
	l.commands[cmd.number].calls++
	c := &l.call
	c.session, c.cmd, c.args = s, cmd, args
	cmd.run(c)
	// Neither the session nor the buffer behind args may be kept alive until
	// the next command comes.
	c.session, c.args = nil, nil
	if byRun {
		return nil
	}
	return d.measure(s, l, cmd, args, since)
}

// EndRun closes the timing of the commands of one read. The loop calls it
// after the last of them.
func (d *Dispatcher) EndRun(loop *shard.Loop) {
	if l := loop.Local().(*local); l.run.cmd != nil {
		l.endRun(d, loop.Nanotime())
	}
}

// find returns the row of a command name as sent, or nil.
func (l *local) find(t *table, name []byte) *command {
	if bytes.Equal(name, l.lastName[:l.lastBytes]) && l.last != nil {
		return l.last
	}
	cmd := lookup(t.index, name)
	if cmd != nil {
		l.last = cmd
		l.lastBytes = copy(l.lastName[:], name)
	}
	return cmd
}

// isForeign reports whether the first word is one of HTTP or SMTP. Those are
// not answered: a web page can make a browser send them, with commands of the
// page's choice in the body, so nothing after the first line may be read.
func isForeign(word []byte) bool {
	return is(word, "POST") || is(word, "HOST:") || is(word, "EHLO") || is(word, "HELO")
}

// reject answers a command that is not run. cmd is nil when there is none of
// that name.
func (l *local) reject(s *shard.Session, cmd *command, text string) {
	if cmd != nil {
		l.commands[cmd.number].rejected++
	}
	l.countError(errorPrefix(text))
	s.Reply().Error(text)
}
