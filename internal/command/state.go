package command

import (
	"maps"

	"broker/internal/acl"
	"broker/shard"
)

// A connState is what the command layer remembers about a session, beside what
// a new session has. It belongs to the session's loop.
type connState struct {
	tracking *tracking    // what CLIENT TRACKING has switched on; nil: nothing
	tx       *transaction // nil: not inside MULTI
	reply    replyMode
	readonly bool                // READONLY
	monitor  bool                // receives a line per command
	watched  map[uint64]struct{} // hashes of the keys that WATCH named, up to maxWatched
	caching  bool                // CLIENT CACHING concerns the command that follows

	user       *acl.User // who is logged in; nil: the default user
	anonymous  bool      // has yet to log in
	restricted bool      // the user may not do everything, so commands are checked
	// grants are the users who were allowed what the session holds, where it is
	// not the present one; nil: it is for all.
	grants map[held]*acl.User

	postponed bool         // waits for the end of a pause
	attended  bool         // commandDone will be called for the command that runs
	executing bool         // EXEC runs
	exec      *measurement // of EXEC, when that has to wait
}

// gauges count the sessions of one loop by what they do now.
type gauges struct {
	watching, tracking, postponed int64
	watched                       map[uint64]struct{} // by any session
}

func gaugesOf(l *shard.Loop) (g gauges) {
	l.Sessions(func(s *shard.Session) bool {
		st := stateOf(s)
		if st == nil {
			return true
		}
		if len(st.watched) > 0 {
			g.watching++
			g.addWatched(st.watched)
		}
		if st.tracking != nil {
			g.tracking++
		}
		if st.postponed {
			g.postponed++
		}
		return true
	})
	return g
}

func (g *gauges) addWatched(keys map[uint64]struct{}) {
	if g.watched == nil && len(keys) > 0 {
		g.watched = map[uint64]struct{}{}
	}
	maps.Copy(g.watched, keys)
}

func (g *gauges) add(o gauges) {
	g.watching += o.watching
	g.addWatched(o.watched)
	g.tracking += o.tracking
	g.postponed += o.postponed
}

// stateOf returns the session's state for reading; nil: as good as new.
func stateOf(s *shard.Session) *connState {
	a := s.Peek()
	st, _ := a.State.(*connState)
	return st
}

// ensureState returns the session's state for writing. Whoever changes
// something that special looks at calls remark afterwards.
func ensureState(s *shard.Session) *connState {
	if st := stateOf(s); st != nil {
		return st
	}
	st := &connState{}
	s.Attrs().State = st
	return st
}

// userName returns the name of the user that the session is logged in as.
func userName(s *shard.Session) string {
	if st := stateOf(s); st != nil && st.user != nil {
		return st.user.Name()
	}
	return acl.DefaultName
}

// special reports whether the session's commands need more than to be run.
func (st *connState) special() bool {
	return st.anonymous || st.restricted || !st.plain()
}

// plain reports whether the session's commands need no more than a check of
// its user.
func (st *connState) plain() bool {
	return st.tx == nil && st.reply == replyMode{} && !st.monitor && !st.caching
}

// remark brings the session's mark up to date with its state.
func remark(s *shard.Session) {
	st := stateOf(s)
	s.Mark(st != nil && st.special())
}

// Ended is for the field of the same name of shard.Config.
func (d *Dispatcher) Ended(s *shard.Session) {
	d.stopMonitoring(s)
}

// An alert is a reason to look at every command more closely, whatever
// session it comes from.
type alert uint32

const (
	alertPause   alert = 1 << iota // CLIENT PAUSE is in force
	alertMonitor                   // somebody monitors
	alertExact                     // the time of every single command is taken
)

// setAlert raises or clears an alert.
func (d *Dispatcher) setAlert(a alert, on bool) {
	if on {
		d.alerts.Or(uint32(a))
	} else {
		d.alerts.And(^uint32(a))
	}
}

func (d *Dispatcher) alerted(a alert) bool { return alert(d.alerts.Load())&a != 0 }
