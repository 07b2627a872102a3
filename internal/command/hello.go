package command

import (
	"fmt"

	"broker/resp"
	"broker/shard"
)

// hello answers HELLO. All options are read before any takes effect, so a
// mistake leaves the connection as it was.
func (c *call) hello() {
	proto := c.session.Proto()
	args := c.args[1:]
	if len(args) > 0 {
		version, ok := parseInt(args[0])
		if !ok {
			c.fail(errProtoNotInteger)
			return
		}
		switch version {
		case 2:
			proto = resp.RESP2
		case 3:
			proto = resp.RESP3
		default:
			c.fail(errNoProto)
			return
		}
		args = args[1:]
	}
	var user, password, name []byte
	auth, rename := false, false
	for len(args) > 0 {
		switch {
		case is(args[0], "AUTH") && len(args) > 2:
			auth, user, password = true, args[1], args[2]
			args = args[3:]
		case is(args[0], "SETNAME") && len(args) > 1:
			rename, name = true, args[1]
			if !printable(name) {
				c.fail(errClientName)
				return
			}
			args = args[2:]
		default:
			c.fail(fmt.Sprintf("ERR Syntax error in HELLO option '%s'", echoWhole(args[0])))
			return
		}
	}
	d, s := c.d, c.session
	newName := string(name)
	done := func() {
		if rename {
			s.Attrs().Name = newName
		}
		if proto != s.Proto() {
			s.SetProto(proto)
		}
		d.writeGreeting(s, proto)
	}
	switch {
	case auth:
		c.login(user, password, done)
	case c.d.mustLogIn(s, stateOf(s)):
		c.fail(errHelloNoAuth)
	default:
		done()
	}
}

// writeGreeting describes the server to the client's library.
func (d *Dispatcher) writeGreeting(s *shard.Session, proto resp.Proto) {
	w := s.Reply()
	w.Map(7)
	w.BulkString("server")
	w.BulkString("redis")
	w.BulkString("version")
	w.BulkString(compatVersion)
	w.BulkString("proto")
	w.Int(int64(proto))
	w.BulkString("id")
	w.Int(int64(s.ID()))
	w.BulkString("mode")
	w.BulkString(d.mode())
	w.BulkString("role")
	w.BulkString("master")
	w.BulkString("modules")
	w.Array(0)
}
