package command

import (
	"broker/channelstore"
	"broker/internal/acl"
	"broker/shard"
)

// A held name is something that a session is subscribed to.
type held struct {
	kind channelstore.Kind
	name string
}

// keepGrants remembers that what the session holds was allowed to old, before
// another user takes the session over. Names that were allowed to somebody
// before old are his still.
func (st *connState) keepGrants(s *shard.Session, old *acl.User) {
	before := st.grants
	st.grants = nil
	s.EachSubscription(func(kind channelstore.Kind, name string) bool {
		if st.grants == nil {
			st.grants = make(map[held]*acl.User)
		}
		owner := before[held{kind, name}]
		if owner == nil {
			owner = old
		}
		st.grants[held{kind, name}] = owner
		return true
	})
}

// granted notes that the session's present user is allowed names, which are
// subscribed to now, whoever was before.
func (st *connState) granted(kind channelstore.Kind, names [][]byte) {
	if st.grants == nil {
		return
	}
	for _, name := range names {
		delete(st.grants, held{kind, string(name)})
	}
}

// A revision is what has happened to users and sessions have to be told. It is
// not written once it is made.
type revision map[*acl.User]acl.Change

// newRevision returns the changes that can concern a session, nil if there are
// none: nobody is logged in as a user who is new, and most changes neither
// take a channel away nor matter to how commands are checked.
func newRevision(changes []acl.Change) revision {
	var r revision
	for _, c := range changes {
		if c.Before == nil || !c.Revokes() && c.Before.Unrestricted() == c.After.Unrestricted() {
			continue
		}
		if r == nil {
			r = revision{}
		}
		r[c.User] = c
	}
	return r
}

// takes reports whether the session has lost its user, or something that it
// holds.
func (r revision) takes(d *Dispatcher, s *shard.Session, st *connState) bool {
	user := d.orDefault(st)
	if c, ok := r[user]; ok && c.After.Deleted() {
		return true
	}
	lost := false
	s.EachSubscription(func(kind channelstore.Kind, name string) bool {
		owner := user
		if st != nil && st.grants != nil {
			if u := st.grants[held{kind, name}]; u != nil {
				owner = u
			}
		}
		c, ok := r[owner]
		lost = ok && !c.After.Covers(name, kind == channelstore.Patterns)
		return !lost
	})
	return lost
}

// enforce makes a revision felt by the sessions of a loop: whoever has lost a
// subscription or its user is closed, others are checked from now on, or no
// more. It reports whether asker, who is answered first, is among those to be
// closed.
func (d *Dispatcher) enforce(r revision, loop *shard.Loop, asker *shard.Session) (closeAsker bool) {
	loop.Sessions(func(s *shard.Session) bool {
		st := stateOf(s)
		if _, concerned := r[d.orDefault(st)]; concerned {
			restricted := !d.orDefault(st).Unrestricted()
			if st != nil || restricted {
				ensureState(s).restricted = restricted
				remark(s)
			}
		} else if st == nil || st.grants == nil {
			return true
		}
		switch {
		case !r.takes(d, s, st):
		case s == asker:
			closeAsker = true
		default:
			s.CloseNow(shard.CloseByRevocation)
		}
		return true
	})
	return closeAsker
}

// enforceEverywhere makes changes felt by all sessions and then calls done. s,
// who has asked for the changes, is closed behind its answer if it has to be.
func (d *Dispatcher) enforceEverywhere(s *shard.Session, changes []acl.Change, done func()) {
	r := newRevision(changes)
	if r == nil {
		done()
		return
	}
	closeAsker := false
	shard.Gather(s, func(l *shard.Loop) struct{} {
		if d.enforce(r, l, s) {
			closeAsker = true // only the loop of s gets here
		}
		return struct{}{}
	}, func([]struct{}) {
		done()
		if closeAsker {
			s.CloseAfterReply()
		}
	})
}
