// Logging in: AUTH, and the AUTH option of HELLO.
//
// redis.io/docs/latest/operate/oss_and_stack/management/security/acl

package command

import (
	"bytes"
	"net/netip"
	"time"

	"broker/internal/acl"
	"broker/shard"
)

func authCommand() *command {
	return &command{
		name: "auth", arity: -2,
		flags:      flagNoScript | flagLoading | flagStale | flagFast | flagNoAuth | flagAllowBusy,
		categories: categoryConnection,
		group:      "connection", since: "1.0.0", complexity: "O(N) for N passwords of the user",
		summary: "Logs in as a user, or with the default user's password.",
		args: []arg{
			{name: "username", kind: kindString, optional: true, since: "6.0.0"},
			{name: "password", kind: kindString},
		},
		run: (*call).auth,
	}
}

func (c *call) auth() {
	name, password := []byte(acl.DefaultName), c.args[1]
	switch {
	case len(c.args) > 3:
		c.fail(errSyntax)
		return
	case len(c.args) == 3:
		name, password = c.args[1], c.args[2]
	case c.d.users.Default().Rules().NoPass():
		c.fail(errNoPassword)
		return
	}
	s := c.session
	c.login(name, password, func() { s.Reply().OK() })
}

// login checks a password and then calls done, or answers with an error,
// neither of which need be at once: see guesses. A failed login leaves the
// session's user as he is.
func (c *call) login(name, password []byte, done func()) {
	a := &attempt{
		d: c.d, session: c.session, local: c.local, fail: c.failLater(), done: done,
		from: addressOf(c.session), name: name, password: password, command: c.args[0],
	}
	wait, ok := a.d.guesses.begin(a.from, time.Now())
	switch {
	case !ok:
		a.session.Delay(maxGuessWait, func() { a.fail(errManyGuesses) })
	case wait == 0:
		a.check()
	default:
		a.name, a.password, a.command = bytes.Clone(name), bytes.Clone(password), bytes.Clone(a.command)
		a.session.Delay(wait, a.check)
	}
}

// An attempt is a login that is under way. It belongs to the session's loop.
type attempt struct {
	d       *Dispatcher
	session *shard.Session
	local   *local
	fail    func(text string)
	done    func()

	from           netip.Addr
	name, password []byte
	command        []byte // the word that the log shows
}

func (a *attempt) check() {
	s := a.session
	if u := a.d.users.Authenticate(a.name, a.password); u != nil {
		a.d.guesses.succeeded(a.from, time.Now())
		a.d.become(s, u)
		a.done()
		return
	}
	a.local.countDenial(acl.DeniedAuth)
	a.d.logDenial(s, acl.DeniedAuth, inMulti(s), string(a.command), string(a.name))
	if delay := a.d.guesses.failed(a.from, time.Now()); delay > 0 {
		s.Delay(delay, func() { a.fail(errWrongPass) })
		return
	}
	a.fail(errWrongPass)
}

// inMulti reports whether what the session does belongs to a transaction.
func inMulti(s *shard.Session) bool {
	st := stateOf(s)
	return st != nil && (st.tx != nil || st.executing)
}

// addressOf returns whom failed logins are held against: the client's address,
// or its network of 64 bits, of which one client may have every address. All
// clients of a Unix domain socket count as one.
func addressOf(s *shard.Session) netip.Addr { return network(s.Addr()) }

func network(addrPort string) netip.Addr {
	at, err := netip.ParseAddrPort(addrPort)
	if err != nil {
		return netip.Addr{}
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is6() {
		prefix, _ := addr.Prefix(64) // fails for other than IPv6 and 0 to 128
		addr = prefix.Addr()
	}
	return addr
}

// Opened is for the field of the same name of shard.Config: every session
// begins as the default user, who may have to log in.
func (d *Dispatcher) Opened(s *shard.Session) {
	s.SetUser(acl.DefaultName)
	anonymous, restricted := !d.users.Open(), !d.users.Default().Unrestricted()
	if anonymous {
		s.SetAnonymous(true)
	}
	if anonymous || restricted {
		st := ensureState(s)
		st.anonymous, st.restricted = anonymous, restricted
		remark(s)
	}
}

// become makes u the session's user. What is subscribed to stays, and stays
// the matter of the user who was allowed to: see connState.grants.
func (d *Dispatcher) become(s *shard.Session, u *acl.User) {
	old := d.userOf(s)
	st := stateOf(s)
	if u == old && (st == nil || !st.anonymous) {
		return
	}
	st = ensureState(s)
	if u != old {
		st.keepGrants(s, old)
		st.user = u
		s.SetUser(u.Name())
	}
	if st.anonymous {
		st.anonymous = false
		s.SetAnonymous(false)
	}
	st.restricted = !u.Unrestricted()
	remark(s)
}

// userOf returns the user that the session is logged in as.
func (d *Dispatcher) userOf(s *shard.Session) *acl.User { return d.orDefault(stateOf(s)) }

func (d *Dispatcher) orDefault(st *connState) *acl.User {
	if st == nil || st.user == nil {
		return d.users.Default()
	}
	return st.user
}

// mustLogIn reports whether the session may run nothing but what logs in. A
// session that had to is let in when the default user needs no password any
// more.
func (d *Dispatcher) mustLogIn(s *shard.Session, st *connState) bool {
	if st == nil || !st.anonymous {
		return false
	}
	if d.users.Open() {
		d.become(s, d.users.Default())
		return false
	}
	return true
}
