// Testing of clients.
//
// redis.io/docs/latest/commands/debug

package command

import (
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"broker/resp"
	"broker/shard"
)

// A DebugAccess says who may use DEBUG.
type DebugAccess uint8

const (
	DebugNobody    DebugAccess = iota
	DebugLocal                 // connections from this machine
	DebugEverybody             // who has the permission
)

// errDebugNotAllowed has no line breaks although it is long; it is Redis's.
const errDebugNotAllowed = `ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", ` +
	"you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server."

// debugCommand is no container, as in Redis: its subcommands have no rows.
func debugCommand() *command {
	return &command{
		name: "debug", arity: -2, flags: flagAdmin | flagNoScript | flagLoading | flagStale, restricted: true,
		group: "server", since: "1.0.0", complexity: "that of the subcommand",
		summary: "Helps to test clients: SLEEP, which delays the one that asks and no other, PROTOCOL and LOG.",
		args: []arg{
			{name: "subcommand", kind: kindString},
			{name: "arg", kind: kindString, optional: true, multiple: true},
		},
		run: (*call).debug,
	}
}

// debugHelp are the lines of Redis's DEBUG HELP about what exists here, and
// about SLEEP what it does here.
var debugHelp = []string{
	"DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
	"LOG <message>",
	"    Write <message> to the server log.",
	"PROTOCOL <type>",
	"    Reply with a test value of the specified type. <type> can be: string,",
	"    integer, double, bignum, null, array, set, map, attrib, push, verbatim,",
	"    true, false.",
	"REPLYBUFFER RESIZING <0|1>",
	"    Accepted without effect: there are no reply buffers that are resized.",
	"SLEEP <seconds>",
	"    Stop this connection for <seconds>, at most 3600. Decimals allowed.",
	"HELP",
	"    Print this help.",
}

// mayDebug reports whether the session may use DEBUG.
func (d *Dispatcher) mayDebug(s *shard.Session) bool {
	return d.cfg.DebugCommand == DebugEverybody || d.cfg.DebugCommand == DebugLocal && isLocal(s)
}

// isLocal reports whether the client is on this machine.
func isLocal(s *shard.Session) bool {
	if s.Info().Unix {
		return true
	}
	addr, err := netip.ParseAddrPort(s.Addr())
	return err == nil && addr.Addr().Unmap().IsLoopback()
}

func (c *call) debug() {
	word, n := c.args[1], len(c.args)
	switch {
	case n == 2 && is(word, "HELP"):
		w := c.reply()
		w.Array(len(debugHelp))
		for _, line := range debugHelp {
			w.Simple(line)
		}
	case n == 3 && is(word, "SLEEP"):
		s := c.session
		if pause := debugPause(c.args[2]); pause > 0 {
			s.Delay(pause, func() { s.Reply().OK() })
			return
		}
		s.Reply().OK()
	case n == 3 && is(word, "LOG"):
		c.d.cfg.Log.Warn("DEBUG LOG", "message", echoWhole(c.args[2]))
		c.reply().OK()
	case n == 3 && is(word, "PROTOCOL"):
		c.debugProtocol()
	case n == 4 && is(word, "REPLYBUFFER") && is(c.args[2], "RESIZING"):
		c.reply().OK()
	default:
		c.fail(unknownOrArity(c.cmd, word))
	}
}

// maxDebugPause bounds DEBUG SLEEP.
const maxDebugPause = time.Hour

// debugPause reads a number of seconds; what is none is 0, as in Redis.
func debugPause(word []byte) time.Duration {
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(word[:min(len(word), maxFloatBytes)])), 64)
	if err != nil || math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, maxDebugPause.Seconds()) * float64(time.Second))
}

// maxFloatBytes is what is looked at of a number with decimals.
const maxFloatBytes = 64

const errDebugProtocol = "ERR Wrong protocol type name. Please use one of the following: " +
	"string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false"

// debugProtocol answers DEBUG PROTOCOL with a value of each type.
func (c *call) debugProtocol() {
	w := c.reply()
	count := func(n int) {
		for i := range n {
			w.Int(int64(i))
		}
	}
	switch name := c.args[2]; {
	case is(name, "STRING"):
		w.BulkString("Hello World")
	case is(name, "INTEGER"):
		w.Int(12345)
	case is(name, "DOUBLE"):
		w.Double(3.141)
	case is(name, "NULL"):
		w.Null()
	case is(name, "ARRAY"):
		w.Array(3)
		count(3)
	case is(name, "SET"):
		w.Set(3)
		count(3)
	case is(name, "MAP"):
		w.Map(3)
		for i := range 3 {
			w.Int(int64(i))
			w.Bool(i == 1)
		}
	case is(name, "ATTRIB"):
		if w.Attribute(1) {
			w.BulkString("key-popularity")
			w.Array(2)
			w.BulkString("key:123")
			w.Int(90)
		}
		w.BulkString("Some real reply following the attribute")
	case is(name, "PUSH"):
		if w.Proto != resp.RESP3 {
			c.fail("ERR RESP2 is not supported by this command")
			return
		}
		w.Push(2)
		w.BulkString("server-cpu-usage")
		w.Int(42)
		w.BulkString("Some real reply following the push reply")
	case is(name, "TRUE"):
		w.Bool(true)
	case is(name, "FALSE"):
		w.Bool(false)
	case is(name, "VERBATIM"):
		w.Verbatim("txt", "This is a verbatim\nstring")
	case is(name, "BIGNUM"):
		w.BigNumber("1234567999999999999999999999999999999")
	default:
		c.fail(errDebugProtocol)
	}
}
