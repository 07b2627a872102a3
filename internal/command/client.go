package command

import (
	"fmt"

	"broker/shard"
)

func clientContainer() *command {
	const flags = flagNoScript | flagLoading | flagStale
	toAll := []string{"request_policy:all_nodes", "response_policy:all_succeeded"}
	varying := []string{"nondeterministic_output"}
	return &command{
		name: "client", arity: -2,
		group: "connection", since: "2.4.0", complexity: "that of the subcommand",
		summary: "Tells about and changes connections.",
		subs: []*command{
			{
				name: "caching", arity: 3, flags: flags, categories: categoryConnection,
				since: "6.0.0", complexity: "O(1)",
				summary: "Accepts whether the keys of the next command are to be tracked; there are no keys.",
				args:    yesOrNo,
				help: []string{
					"CACHING (YES|NO)",
					"    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
				},
				run: (*call).clientCaching,
			},
			{
				name: "getredir", arity: 2, flags: flags, categories: categoryConnection,
				since: "6.0.0", complexity: "O(1)",
				summary: "Returns the number of the connection that CLIENT TRACKING was told to notify; 0: this one, -1: tracking is off.",
				help: []string{
					"GETREDIR",
					"    Return the client ID we are redirecting to when tracking is enabled.",
				},
				run: func(c *call) { c.reply().Int(c.tracking().redirection()) },
			},
			{
				name: "getname", arity: 2, flags: flags, categories: categoryConnection,
				since: "2.6.9", complexity: "O(1)",
				summary: "Returns the name of this connection.",
				help: []string{
					"GETNAME",
					"    Return the name of the current connection.",
				},
				run: (*call).clientGetName,
			},
			{
				name: "id", arity: 2, flags: flags, categories: categoryConnection,
				since: "5.0.0", complexity: "O(1)",
				summary: "Returns the number of this connection.",
				help: []string{
					"ID",
					"    Return the ID of the current connection.",
				},
				run: func(c *call) { c.reply().Int(int64(c.session.ID())) },
			},
			{
				name: "info", arity: 2, flags: flags, categories: categoryConnection, tips: varying,
				since: "6.2.0", complexity: "O(1)",
				summary: "Describes this connection in a line.",
				help: []string{
					"INFO",
					"    Return information about the current client connection.",
				},
				run: (*call).clientInfo,
			},
			clientKillCommand(),
			{
				name: "list", arity: -2, flags: flags | flagAdmin, categories: categoryConnection, tips: varying,
				since: "2.4.0", complexity: "O(N log N) for N connections",
				summary: "Describes all connections, or some, in a line each.",
				args: []arg{
					{name: "client-type", kind: kindOneOf, token: "TYPE", since: "5.0.0", optional: true, args: []arg{
						{name: "normal", kind: kindToken, token: "NORMAL"},
						{name: "master", kind: kindToken, token: "MASTER"},
						{name: "replica", kind: kindToken, token: "REPLICA"},
						{name: "pubsub", kind: kindToken, token: "PUBSUB"},
					}},
					{name: "client-id", kind: kindInteger, token: "ID", since: "6.2.0", optional: true, multiple: true},
				},
				help: []string{
					"LIST [options ...]",
					"    Return information about client connections. Options:",
					"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
					"      Return clients of specified type.",
				},
				run: (*call).clientList,
			},
			{
				name: "unpause", arity: 2, flags: flags | flagAdmin, categories: categoryConnection,
				since: "6.2.0", complexity: "O(N) for N connections that wait",
				summary: "Ends CLIENT PAUSE.",
				help: []string{
					"UNPAUSE",
					"    Stop the current client pause, resuming traffic.",
				},
				run: func(c *call) {
					c.reply().OK()
					c.d.setPause(c.session.Loop(), pause{})
				},
			},
			{
				name: "pause", arity: -3, flags: flags | flagAdmin, categories: categoryConnection,
				since: "2.9.50", complexity: "O(1)",
				summary: "Makes all commands, or those that publish, wait for some time.",
				args: []arg{
					{name: "timeout", kind: kindInteger},
					{name: "mode", kind: kindOneOf, since: "6.2.0", optional: true, args: []arg{
						{name: "write", kind: kindToken, token: "WRITE"},
						{name: "all", kind: kindToken, token: "ALL"},
					}},
				},
				help: []string{
					"PAUSE <timeout> [WRITE|ALL]",
					"    Suspend all, or just write, clients for <timeout> milliseconds.",
				},
				run: (*call).clientPause,
			},
			{
				name: "reply", arity: 3, flags: flags, categories: categoryConnection, notInMulti: true,
				since: "3.2.0", complexity: "O(1)",
				summary: "Switches replies off, on, or off for one command. Messages and the answers to subscribing are sent in any case.",
				args: []arg{{name: "on-off-skip", kind: kindOneOf, args: []arg{
					{name: "on", kind: kindToken, token: "ON"},
					{name: "off", kind: kindToken, token: "OFF"},
					{name: "skip", kind: kindToken, token: "SKIP"},
				}}},
				help: []string{
					"REPLY (ON|OFF|SKIP)",
					"    Control the replies sent to the current connection.",
				},
				run: (*call).clientReply,
			},
			{
				name: "setname", arity: 3, flags: flags, categories: categoryConnection, tips: toAll,
				since: "2.6.9", complexity: "O(1)",
				summary: "Names this connection, for those who look at CLIENT LIST and the log.",
				args:    []arg{{name: "connection-name", kind: kindString}},
				help: []string{
					"SETNAME <name>",
					"    Assign the name <name> to the current connection.",
				},
				run: (*call).clientSetName,
			},
			{
				name: "setinfo", arity: 4, flags: flags, categories: categoryConnection, tips: toAll,
				since: "7.2.0", complexity: "O(1)",
				summary: "Records the name or the version of the client's library.",
				args: []arg{{name: "attr", kind: kindOneOf, args: []arg{
					{name: "libname", kind: kindString, token: "LIB-NAME"},
					{name: "libver", kind: kindString, token: "LIB-VER"},
				}}},
				help: []string{
					"SETINFO <option> <value>",
					"    Set client meta attr. Options are:",
					"    * LIB-NAME: the client lib name.",
					"    * LIB-VER: the client lib version.",
				},
				run: (*call).clientSetInfo,
			},
			{
				name: "unblock", arity: -3, flags: flags | flagAdmin, categories: categoryConnection,
				since: "5.0.0", complexity: "O(1)",
				summary: "Ends the wait of a connection in a blocking command; none is, so always 0.",
				args: []arg{
					{name: "client-id", kind: kindInteger},
					{name: "unblock-type", kind: kindOneOf, optional: true, args: []arg{
						{name: "timeout", kind: kindToken, token: "TIMEOUT"},
						{name: "error", kind: kindToken, token: "ERROR"},
					}},
				},
				help: []string{
					"UNBLOCK <clientid> [TIMEOUT|ERROR]",
					"    Unblock the specified blocked client.",
				},
				run: (*call).clientUnblock,
			},
			clientTrackingCommand(),
			{
				name: "trackinginfo", arity: 2, flags: flags, categories: categoryConnection,
				since: "6.2.0", complexity: "O(1)",
				summary: "Returns what CLIENT TRACKING has set.",
				help: []string{
					"TRACKINGINFO",
					"    Report tracking status for the current connection.",
				},
				run: (*call).clientTrackingInfo,
			},
			{
				name: "no-evict", arity: 3, flags: flags | flagAdmin, categories: categoryConnection,
				since: "7.0.0", complexity: "O(1)",
				summary: "Marks the connection as one not to close for want of memory; none is closed for that.",
				args:    onOrOff,
				help: []string{
					"NO-EVICT (ON|OFF)",
					"    Protect current client connection from eviction.",
				},
				run: func(c *call) { c.clientSwitch(func(a *shard.Attrs) *bool { return &a.NoEvict }) },
			},
			{
				name: "no-touch", arity: 3, flags: flags, categories: categoryConnection,
				since: "7.2.0", complexity: "O(1)",
				summary: "Marks the connection as one whose commands do not count as use of keys; there are no keys.",
				args:    onOrOff,
				help: []string{
					"NO-TOUCH (ON|OFF)",
					"    Will not touch LRU/LFU stats when this mode is on.",
				},
				run: func(c *call) { c.clientSwitch(func(a *shard.Attrs) *bool { return &a.NoTouch }) },
			},
			clientSlowPolicyCommand(),
			helpCommand("5.0.0", categoryConnection),
		},
	}
}

var (
	onOrOff = []arg{{name: "enabled", kind: kindOneOf, args: []arg{
		{name: "on", kind: kindToken, token: "ON"},
		{name: "off", kind: kindToken, token: "OFF"},
	}}}
	yesOrNo = []arg{{name: "mode", kind: kindOneOf, args: []arg{
		{name: "yes", kind: kindToken, token: "YES"},
		{name: "no", kind: kindToken, token: "NO"},
	}}}
)

// clientSwitch sets a flag of the session's by ON or OFF.
func (c *call) clientSwitch(flag func(*shard.Attrs) *bool) {
	on := is(c.args[2], "ON")
	if !on && !is(c.args[2], "OFF") {
		c.fail(errSyntax)
		return
	}
	if a := c.session.Peek(); *flag(&a) != on {
		*flag(c.session.Attrs()) = on
	}
	c.reply().OK()
}

// clientUnblock answers CLIENT UNBLOCK. No command blocks here.
func (c *call) clientUnblock() {
	if len(c.args) > 4 {
		c.fail(unknownOrArity(c.cmd.parent, c.args[1]))
		return
	}
	if len(c.args) == 4 && !is(c.args[3], "TIMEOUT") && !is(c.args[3], "ERROR") {
		c.fail(errUnblockReason)
		return
	}
	if _, ok := parseInt(c.args[2]); !ok {
		c.fail(errNotInteger)
		return
	}
	c.reply().Int(0)
}

func (c *call) clientGetName() {
	if name := c.session.Peek().Name; name != "" {
		c.reply().BulkString(name)
	} else {
		c.reply().Null()
	}
}

func (c *call) clientSetName() {
	name := c.args[2]
	if !printable(name) {
		c.fail(errClientName)
		return
	}
	if len(name) > 0 || c.session.Peek().Name != "" {
		c.session.Attrs().Name = string(name)
	}
	c.reply().OK()
}

func (c *call) clientSetInfo() {
	option, value := c.args[2], c.args[3]
	isName := is(option, "LIB-NAME")
	if !isName && !is(option, "LIB-VER") {
		c.fail(fmt.Sprintf("ERR Unrecognized option '%s'", echoWhole(option)))
		return
	}
	if !printable(value) {
		c.fail("ERR " + string(option) + " cannot contain spaces, newlines or special characters.")
		return
	}
	if isName {
		c.session.Attrs().LibName = string(value)
	} else {
		c.session.Attrs().LibVer = string(value)
	}
	c.reply().OK()
}

func (c *call) clientInfo() {
	s := c.session
	var b []byte
	b = appendClientLine(b, s, s.Loop())
	c.reply().Verbatim("txt", string(b))
}

// clientTypes are the words that CLIENT LIST TYPE knows, in upper case. There
// are no replicas and no masters here, so those lists are empty.
var clientTypes = [...]string{"NORMAL", "PUBSUB", "MASTER", "REPLICA", "SLAVE"}

func clientType(word []byte) (string, bool) {
	for _, t := range clientTypes {
		if is(cString(word), t) {
			return t, true
		}
	}
	return "", false
}

// hasType reports whether the session is of a kind of clientTypes.
func hasType(s *shard.Session, kind string) bool {
	return kind == "PUBSUB" && s.Subscribed() || kind == "NORMAL" && !s.Subscribed()
}

func unknownClientType(word []byte) string {
	return "ERR Unknown client type '" + echoWhole(word) + "'"
}
