// The connection itself: protocol, name, database, end.
//
// redis.io/docs/latest/commands/?group=connection

package command

import (
	"broker/resp"
	"broker/shard"
)

func connectionCommands() []*command {
	const atAnyTime = flagNoScript | flagLoading | flagStale | flagFast | flagNoAuth | flagAllowBusy
	return []*command{
		{
			name: "ping", arity: -1, frequent: true, flags: flagFast, categories: categoryConnection, inSubscriberMode: true,
			tips:  []string{"request_policy:all_shards", "response_policy:all_succeeded"},
			group: "connection", since: "1.0.0", complexity: "O(1)",
			summary: "Answers PONG, or the message.",
			args:    []arg{{name: "message", kind: kindString, optional: true}},
			run:     (*call).ping,
		},
		{
			name: "echo", arity: 2, frequent: true, flags: flagLoading | flagStale | flagFast, categories: categoryConnection,
			group: "connection", since: "1.0.0", complexity: "O(1)",
			summary: "Answers the message.",
			args:    []arg{{name: "message", kind: kindString}},
			run:     func(c *call) { c.reply().Bulk(c.args[1]) },
		},
		authCommand(),
		{
			name: "hello", arity: -1, flags: atAnyTime, categories: categoryConnection,
			group: "connection", since: "6.0.0", complexity: "O(1)",
			summary: "Chooses the protocol version, optionally logs in and names the connection, and describes the server.",
			args: []arg{{name: "arguments", kind: kindBlock, optional: true, args: []arg{
				{name: "protover", kind: kindInteger},
				{name: "auth", kind: kindBlock, token: "AUTH", optional: true, args: []arg{
					{name: "username", kind: kindString},
					{name: "password", kind: kindString},
				}},
				{name: "clientname", kind: kindString, token: "SETNAME", optional: true},
			}}},
			run: (*call).hello,
		},
		{
			name: "select", arity: 2, flags: flagLoading | flagStale | flagFast, categories: categoryConnection,
			group: "connection", since: "1.0.0", complexity: "O(1)",
			summary: "Accepts a database index; channels belong to none.",
			args:    []arg{{name: "index", kind: kindInteger}},
			run:     (*call).selectDB,
		},
		clientContainer(),
		{
			name: "reset", arity: 1, flags: atAnyTime, categories: categoryConnection, inSubscriberMode: true, inTransaction: true,
			group: "connection", since: "6.2.0", complexity: "O(N) for N subscriptions that are dropped",
			summary: "Makes the connection as good as new.",
			run:     (*call).reset,
		},
		{
			name: "quit", arity: -1, flags: atAnyTime, categories: categoryConnection, inSubscriberMode: true, inTransaction: true,
			group: "connection", since: "1.0.0", complexity: "O(1)",
			summary: "Closes the connection once everything owed to it is sent.",
			run: func(c *call) {
				c.reply().OK()
				c.session.CloseAfterReply()
			},
		},
	}
}

func (c *call) ping() {
	if len(c.args) > 2 {
		c.fail(wrongArity(c.cmd))
		return
	}
	w := c.reply()
	if c.session.Proto() == resp.RESP2 && c.session.Subscribed() {
		// An ordinary reply could not be told from a message there.
		w.Array(2)
		w.BulkString("pong")
		if len(c.args) == 2 {
			w.Bulk(c.args[1])
		} else {
			w.BulkString("")
		}
		return
	}
	if len(c.args) == 2 {
		w.Bulk(c.args[1])
	} else {
		w.Simple("PONG")
	}
}

func (c *call) selectDB() {
	n, ok := parseInt(c.args[1])
	switch {
	case !ok:
		c.fail(errNotInteger)
	case n != int64(int32(n)):
		c.fail(errIntRange)
	case n != 0 && c.d.cfg.Cluster:
		c.fail(errClusterSelect)
	case n < 0 || n >= int64(c.d.cfg.Databases):
		c.fail(errDBIndex)
	default:
		if n != 0 || c.session.Peek().DB != 0 {
			c.session.Attrs().DB = int(n)
		}
		c.reply().OK()
	}
}

// reset drops everything but the library's name and version, which describe
// the program at the other end and not the state of the connection. Who was
// logged in is the default user again and has to log in if that one does.
func (c *call) reset() {
	d, s := c.d, c.session
	s.Unmute()
	endTransaction(s)
	d.stopMonitoring(s)
	s.SetSlowPolicy(nil)
	s.NotifyDrops(false)
	s.DropSubscriptions(func() {
		s.SetProto(resp.RESP2)
		a := s.Peek()
		if kept := (shard.Attrs{LibName: a.LibName, LibVer: a.LibVer}); a != kept {
			*s.Attrs() = kept
		}
		s.Mark(false)
		s.SetAnonymous(false)
		d.Opened(s)
		s.Reply().Simple("RESET")
	})
}
