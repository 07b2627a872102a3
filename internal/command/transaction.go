// Transactions: commands that are queued and run one after the other.
//
// redis.io/docs/latest/develop/interact/transactions

package command

import (
	"hash/maphash"
	"strings"

	"broker/internal/acl"
	"broker/shard"
)

// A transaction is what a session has queued since MULTI.
type transaction struct {
	queue   []queued
	aborted bool  // a command was refused; EXEC will be
	bytes   int64 // estimate of what the queue occupies
}

// A queued command owns its arguments.
type queued struct {
	cmd  *command
	args [][]byte
}

// queuedBytes estimates what a queued command, or one argument of it, occupies
// beside the argument's own bytes.
const queuedBytes = 64

func transactionCommands() []*command {
	const flags = flagNoScript | flagLoading | flagStale | flagFast | flagAllowBusy
	return []*command{
		{
			name: "multi", arity: 1, flags: flags, categories: categoryTransaction, inTransaction: true,
			group: "transactions", since: "1.2.0", complexity: "O(1)",
			summary: "Begins to queue commands for EXEC.",
			run:     (*call).multi,
		},
		{
			name: "exec", arity: 1, flags: flagNoScript | flagLoading | flagStale | flagSkipSlowlog, categories: categoryTransaction, inTransaction: true,
			group: "transactions", since: "1.2.0", complexity: "that of the queued commands",
			summary: "Runs the queued commands and returns their replies.",
			run:     (*call).exec,
		},
		{
			name: "discard", arity: 1, flags: flags, categories: categoryTransaction, inTransaction: true,
			group: "transactions", since: "2.0.0", complexity: "O(N) for N queued commands",
			summary: "Forgets the queued commands.",
			run:     (*call).discard,
		},
		{
			name: "watch", arity: -2, flags: flags, categories: categoryTransaction, inTransaction: true,
			keys:  keySpec{first: 1, last: -1, flags: inspectKeys},
			group: "transactions", since: "2.2.0", complexity: "O(N) for N keys",
			summary: "Accepts keys whose change is to make EXEC fail; there are no keys, so none ever changes.",
			args:    []arg{{name: "key", kind: kindKey, multiple: true}},
			run: func(c *call) {
				if st := stateOf(c.session); st != nil && st.tx != nil {
					c.fail(errWatchInMulti)
					return
				}
				ensureState(c.session).watch(c.args[1:])
				c.reply().OK()
			},
		},
		{
			name: "unwatch", arity: 1, flags: flags, categories: categoryTransaction,
			group: "transactions", since: "2.2.0", complexity: "O(1)",
			summary: "Forgets the watched keys.",
			run: func(c *call) {
				if st := stateOf(c.session); st != nil {
					st.watched = nil
				}
				c.reply().OK()
			},
		},
	}
}

// maxWatched bounds how many watched keys are told apart for a session.
const maxWatched = 1024

var watchSeed = maphash.MakeSeed()

// watch notes keys, for INFO and CLIENT LIST.
func (st *connState) watch(keys [][]byte) {
	if st.watched == nil {
		st.watched = map[uint64]struct{}{}
	}
	for _, k := range keys {
		if len(st.watched) < maxWatched {
			st.watched[maphash.Bytes(watchSeed, k)] = struct{}{}
		}
	}
}

func (c *call) multi() {
	st := ensureState(c.session)
	if st.tx != nil {
		c.fail(errNestedMulti)
		return
	}
	st.tx = &transaction{}
	remark(c.session)
	c.reply().OK()
}

func (c *call) discard() {
	if st := stateOf(c.session); st == nil || st.tx == nil {
		c.fail(errNoMultiDiscard)
		return
	}
	endTransaction(c.session)
	c.reply().OK()
}

// endTransaction forgets what is queued and watched.
func endTransaction(s *shard.Session) {
	if st := stateOf(s); st != nil && st.tx != nil {
		st.tx, st.watched = nil, nil
		s.SetExtraMemory(0)
		remark(s)
	}
}

// add queues a command. A client whose queue outgrows the query buffer limit
// is closed, as in Redis.
func (t *transaction) add(s *shard.Session, l *local, cmd *command, args [][]byte) {
	if cmd.pushes() && len(args) > 2 {
		t.aborted = true
		l.reject(s, cmd, severalInMulti(cmd))
		return
	}
	if !t.aborted {
		// What will never run need not be kept.
		t.bytes += queuedBytes
		for _, a := range args {
			t.bytes += queuedBytes + int64(len(a))
		}
		if t.bytes > int64(s.Loop().Settings().QueryBufferBytes) {
			s.CloseNow(shard.CloseByQueryLimit)
			return
		}
		s.SetExtraMemory(t.bytes)
		t.queue = append(t.queue, queued{cmd, cloneArgs(args)})
	}
	s.Reply().Simple("QUEUED")
}

// cloneArgs copies arguments out of a read buffer, into one allocation.
func cloneArgs(args [][]byte) [][]byte {
	total := 0
	for _, a := range args {
		total += len(a)
	}
	all := make([]byte, 0, total)
	out := make([][]byte, len(args))
	for i, a := range args {
		all = append(all, a...)
		out[i] = all[len(all)-len(a) : len(all) : len(all)]
	}
	return out
}

// exec runs the queue. Messages for the session itself, its own included, come
// behind the whole reply.
func (c *call) exec() {
	s := c.session
	st := stateOf(s)
	if st == nil || st.tx == nil {
		c.fail(errNoMultiExec)
		return
	}
	t := st.tx
	if t.aborted {
		endTransaction(s)
		c.fail(errExecAbort)
		return
	}
	s.HoldDeliveries()
	s.Reply().Array(len(t.queue))
	e := &execution{d: c.d, session: s, state: st, local: c.local, queue: t.queue}
	st.executing = true
	endTransaction(s)
	e.goOn()
}

// An execution is a transaction that runs.
type execution struct {
	d       *Dispatcher
	session *shard.Session
	state   *connState
	local   *local
	queue   []queued // what is still to run
	ran     int
	waited  bool // exec has returned before the end
}

// goOn runs commands until one takes longer, after which it is called again,
// or until all have run.
func (e *execution) goOn() {
	s := e.session
	for len(e.queue) > 0 && !s.Closed() {
		q := e.queue[0]
		e.queue = e.queue[1:]
		if refusal := e.refusal(q); refusal != "" {
			e.local.reject(s, q.cmd, refusal)
			continue
		}
		unfinished := e.d.run(s, e.local, q.cmd, q.args)
		if e.d.alerted(alertMonitor) {
			e.d.feed(s, e.local, q.cmd, q.args)
		}
		e.ran++
		if !s.Suspended() && (e.ran%execCommandsPerTurn == 0 || s.ReplyIsLarge()) {
			s.Yield(func() {})
		}
		if s.Suspended() {
			e.waited = true
			s.AfterCommand(func() {
				unfinished.finish()
				e.goOn()
			})
			return
		}
	}
	e.state.executing = false
	s.ReleaseDeliveries()
	if e.waited {
		e.state.exec.finish()
		e.state.exec = nil
		e.state.commandDone(s)
	}
}

// execCommandsPerTurn is how many commands of one transaction may run before
// other sessions get their turn. What a transaction publishes in one turn
// stands together for every subscriber.
const execCommandsPerTurn = 16384

// refusal returns why a queued command cannot run now, or nothing.
func (e *execution) refusal(q queued) string {
	if denial := e.d.permitted(e.session, e.local, e.state, q.cmd, q.args); denial.Reason != acl.Allowed {
		return noPermissionAnyMore(denial)
	}
	switch {
	case q.cmd.blocks:
		return "ERR " + strings.ToUpper(q.cmd.name) + " isn't allowed for a DENY BLOCKING client"
	case q.cmd.pushes() && len(q.args) == 1 && e.session.Subscriptions(q.cmd.kind) > 1:
		// One frame each, and one element in the reply for all of them.
		return severalInMulti(q.cmd)
	}
	return ""
}

// severalInMulti refuses what would put more than one frame where EXEC's reply
// has room for one.
func severalInMulti(cmd *command) string {
	return "ERR " + strings.ToUpper(cmd.name) + " of several names isn't allowed inside a transaction"
}
