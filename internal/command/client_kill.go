package command

import (
	"broker/internal/acl"
	"broker/shard"
)

func clientKillCommand() *command {
	return &command{
		name: "kill", arity: -3, flags: flagAdmin | flagNoScript | flagLoading | flagStale, categories: categoryConnection,
		since: "2.4.0", complexity: "O(N) for N connections",
		summary: "Closes connections: the one from an address, or all that pass every filter.",
		args: []arg{{name: "filter", kind: kindOneOf, args: []arg{
			{name: "ip:port", kind: kindString},
			{name: "new-format", kind: kindOneOf, multiple: true, args: []arg{
				{name: "client-id", kind: kindInteger, token: "ID", since: "2.8.12"},
				{name: "client-type", kind: kindOneOf, token: "TYPE", since: "2.8.12", args: []arg{
					{name: "normal", kind: kindToken, token: "NORMAL"},
					{name: "master", kind: kindToken, token: "MASTER", since: "3.2.0"},
					{name: "slave", kind: kindToken, token: "SLAVE"},
					{name: "replica", kind: kindToken, token: "REPLICA", since: "5.0.0"},
					{name: "pubsub", kind: kindToken, token: "PUBSUB"},
				}},
				{name: "username", kind: kindString, token: "USER"},
				{name: "addr", kind: kindString, token: "ADDR"},
				{name: "laddr", kind: kindString, token: "LADDR", since: "6.2.0"},
				{name: "skipme", kind: kindOneOf, token: "SKIPME", args: []arg{
					{name: "yes", kind: kindToken, token: "YES"},
					{name: "no", kind: kindToken, token: "NO"},
				}},
				{name: "maxage", kind: kindInteger, token: "MAXAGE", since: "7.4.0"},
			}},
		}}},
		help: []string{
			"KILL <ip:port>",
			"    Kill connection made from <ip:port>.",
			"KILL <option> <value> [<option> <value> [...]]",
			"    Kill connections. Options are:",
			"    * ADDR (<ip:port>|<unixsocket>:0)",
			"      Kill connections made from the specified address",
			"    * LADDR (<ip:port>|<unixsocket>:0)",
			"      Kill connections made to specified local address",
			"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
			"      Kill connections by type.",
			"    * USER <username>",
			"      Kill connections authenticated by <username>.",
			"    * SKIPME (YES|NO)",
			"      Skip killing current connection (default: yes).",
			"    * MAXAGE <maxage>",
			"      Kill connections older than the specified age.",
		},
		run: (*call).clientKill,
	}
}

// A killFilter says whom CLIENT KILL closes: the sessions that pass all of it.
type killFilter struct {
	id          uint64    // 0: any
	user        *acl.User // nil: any
	addr, laddr *string   // nil: any
	kind        string    // one of clientTypes; empty: any
	minAge      int64     // seconds; 0: any
	skipMe      bool
}

// parse reads the options of the newer form. It returns an error's text, or
// nothing. A repeated option replaces the one before.
func (f *killFilter) parse(options [][]byte, users *acl.Store) (failure string) {
	for ; len(options) > 0; options = options[2:] {
		if len(options) < 2 {
			return errSyntax
		}
		option, value := options[0], options[1]
		switch {
		case is(option, "ID"):
			n, ok := parseInt(value)
			if !ok || n < 1 {
				return errKillID
			}
			f.id = uint64(n)
		case is(option, "TYPE"):
			kind, ok := clientType(value)
			if !ok {
				return unknownClientType(value)
			}
			f.kind = kind
		case is(option, "ADDR"):
			f.addr = addrOf(value)
		case is(option, "LADDR"):
			f.laddr = addrOf(value)
		case is(option, "USER"):
			if f.user = users.Lookup(string(value)); f.user == nil {
				return "ERR No such user '" + echoWhole(value) + "'"
			}
		case is(option, "SKIPME"):
			f.skipMe = is(value, "YES")
			if !f.skipMe && !is(value, "NO") {
				return errSyntax
			}
		case is(option, "MAXAGE"):
			n, ok := parseInt(value)
			if !ok {
				return errKillMaxAge
			}
			if n < 1 {
				return errKillMaxAgeZero
			}
			f.minAge = n
		default:
			return errSyntax
		}
	}
	return ""
}

func addrOf(word []byte) *string {
	s := string(cString(word))
	return &s
}

// matches reports whether the filter lets o, a session of loop, through.
func (f *killFilter) matches(d *Dispatcher, o *shard.Session, loop *shard.Loop) bool {
	if f.id != 0 && o.ID() != f.id || f.kind != "" && !hasType(o, f.kind) || f.user != nil && d.userOf(o) != f.user {
		return false
	}
	if f.addr == nil && f.laddr == nil && f.minAge == 0 {
		return true
	}
	in := o.Info() // asks the system for the addresses
	return (f.addr == nil || *f.addr == in.Addr) &&
		(f.laddr == nil || *f.laddr == in.LocalAddr) &&
		(f.minAge == 0 || int64(loop.Now().Sub(in.Created).Seconds()) >= f.minAge)
}

// clientKill answers CLIENT KILL. Every loop closes its own sessions at once,
// with whatever they are still owed; the one that asks is answered first.
func (c *call) clientKill() {
	f := killFilter{skipMe: true}
	old := len(c.args) == 3
	if old {
		f = killFilter{addr: addrOf(c.args[2])}
	} else if failure := f.parse(c.args[2:], c.d.users); failure != "" {
		c.fail(failure)
		return
	}
	d, s, fail := c.d, c.session, c.failLater()
	self := false
	shard.Gather(s, func(l *shard.Loop) int64 {
		var killed int64
		l.Sessions(func(o *shard.Session) bool {
			switch {
			case o == s && f.skipMe || !f.matches(d, o, l):
				return true
			case o == s:
				self = true
			default:
				o.CloseNow(shard.CloseByKill)
			}
			killed++
			return true
		})
		return killed
	}, func(parts []int64) {
		var killed int64
		for _, n := range parts {
			killed += n
		}
		switch {
		case !old:
			s.Reply().Int(killed)
		case killed == 0:
			fail(errNoSuchClient)
		default:
			s.Reply().OK()
		}
		if self {
			s.CloseAfterReply()
		}
	})
}
