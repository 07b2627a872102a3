package command

import (
	"broker/internal/acl"
	"broker/resp"
	"broker/shard"
)

// handleSpecial does what Handle does for a session that is marked, and for
// every session while there is an alert. The order of the checks decides which
// error a client sees; it is Redis's.
func (d *Dispatcher) handleSpecial(s *shard.Session, l *local, args [][]byte) {
	st := stateOf(s)
	if st != nil && st.plain() && d.alerts.Load() == 0 {
		d.handleChecked(s, l, st, args)
		return
	}
	if st != nil {
		st.attended = true
	}
	cmd, refusal := d.resolve(s, l, args)
	if cmd == nil && refusal == "" {
		return // closed
	}
	if refusal == "" {
		refusal = d.check(s, l, st, cmd, args)
	}
	inMulti := st != nil && st.tx != nil
	// As in Redis, what CLIENT CACHING asks for outlives other subcommands of
	// CLIENT, and a transaction.
	if st != nil && st.caching && !inMulti && (cmd == nil || cmd.parent == nil || cmd.parent.name != "client") {
		st.caching = false
	}
	if refusal == "" && d.alerted(alertPause) && d.postpone(s, l, cmd, args) {
		return
	}
	if st != nil && st.silent() && (refusal != "" || inMulti || !cmd.pushes()) {
		s.Mute()
	}
	var unfinished *measurement
	switch {
	case refusal != "":
		if inMulti {
			st.tx.aborted = true
		}
		l.reject(s, cmd, refusal)
	case inMulti && !cmd.inTransaction:
		st.tx.add(s, l, cmd, args)
	default:
		unfinished = d.run(s, l, cmd, args)
		if d.alerted(alertMonitor) {
			d.feed(s, l, cmd, args)
		}
	}
	switch {
	case st != nil && st.executing:
		st.exec = unfinished // the execution calls both when it is over
	case st != nil:
		s.AfterCommand(func() {
			unfinished.finish()
			st.commandDone(s)
		})
	case unfinished != nil:
		s.AfterCommand(unfinished.finish)
	}
}

// handleChecked is handleSpecial for a session whose user has to be checked, and
// nothing else.
func (d *Dispatcher) handleChecked(s *shard.Session, l *local, st *connState, args [][]byte) {
	cmd, refusal := d.resolve(s, l, args)
	if refusal == "" && cmd != nil {
		refusal = d.check(s, l, st, cmd, args)
	}
	switch {
	case refusal != "":
		l.reject(s, cmd, refusal)
	case cmd != nil:
		if m := d.run(s, l, cmd, args); m != nil {
			s.AfterCommand(m.finish)
		}
	}
}

// check returns why the command may not be run or queued now, or nothing.
func (d *Dispatcher) check(s *shard.Session, l *local, st *connState, cmd *command, args [][]byte) (refusal string) {
	if cmd.flags&flagNoAuth == 0 && d.mustLogIn(s, st) {
		return errNoAuth
	}
	if cmd.notInMulti && st != nil && st.tx != nil {
		return errNotInMulti
	}
	if denial := d.permitted(s, l, st, cmd, args); denial.Reason != acl.Allowed {
		return noPermission(d.orDefault(st), cmd, denial)
	}
	if d.crossesSlots(st, cmd, args) {
		if cmd.name == "exec" {
			endTransaction(s)
		}
		return errCrossSlot
	}
	if !cmd.inSubscriberMode && s.Subscribed() && s.Proto() == resp.RESP2 {
		return notInSubscriberMode(cmd)
	}
	return ""
}

// pushes reports whether the command is answered with frames of the kind that
// CLIENT REPLY does not silence.
func (c *command) pushes() bool { return c.flags&flagPubSub != 0 && c.inSubscriberMode }

// reply modes of CLIENT REPLY.
type replyMode struct {
	off      bool // no replies until switched on
	skip     bool // no reply to the command that runs
	skipNext bool // nor to the one that follows
}

// silent reports whether the next command is not answered.
func (st *connState) silent() bool { return st.reply.off || st.reply.skip }

// commandDone is called when a command of a special session is finished.
func (st *connState) commandDone(s *shard.Session) {
	s.Unmute()
	st.attended = false
	st.reply.skip, st.reply.skipNext = st.reply.skipNext, false
	remark(s)
}

// clientReply answers CLIENT REPLY. OFF and SKIP are not answered.
func (c *call) clientReply() {
	s := c.session
	word := c.args[2]
	switch {
	case is(word, "ON"):
		st := stateOf(s)
		if st != nil {
			st.reply = replyMode{}
			s.Unmute()
			remark(s)
		}
		s.Reply().OK()
	case is(word, "OFF"):
		ensureState(s).reply = replyMode{off: true}
		remark(s)
	case is(word, "SKIP"):
		st := ensureState(s)
		if st.reply.off {
			return
		}
		if st.attended {
			st.reply.skipNext = true // commandDone moves it on behind this command
		} else {
			st.reply.skip = true
		}
		remark(s)
	default:
		c.fail(errSyntax)
	}
}
