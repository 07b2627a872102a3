// Access control lists: who may log in and do what.
//
// redis.io/docs/latest/commands/?group=server, redis.io/docs/latest/operate/oss_and_stack/management/security/acl

package command

import (
	"broker/internal/acl"
	"broker/shard"
)

func aclContainer() *command {
	const (
		flags = flagNoScript | flagLoading | flagStale
		admin = flags | flagAdmin
	)
	toAll := []string{"request_policy:all_nodes", "response_policy:all_succeeded"}
	user := arg{name: "username", kind: kindString}
	return &command{
		name: "acl", arity: -2,
		group: "server", since: "6.0.0", complexity: "that of the subcommand",
		summary: "Tells and changes who may log in and do what.",
		subs: []*command{
			{
				name: "cat", arity: -2, flags: flags, since: "6.0.0", complexity: "O(N) for N commands",
				summary: "Lists the categories of commands, or the commands of one.",
				args:    []arg{{name: "category", kind: kindString, optional: true}},
				help: []string{
					"CAT [<category>]",
					"    List all commands that belong to <category>, or all command categories",
					"    when no category is specified.",
				},
				run: (*call).aclCat,
			},
			{
				name: "deluser", arity: -3, flags: admin, since: "6.0.0", complexity: "O(N+M) for N names and M connections",
				summary: "Deletes users and closes their connections.",
				tips:    toAll,
				args:    []arg{{name: "username", kind: kindString, multiple: true}},
				help: []string{
					"DELUSER <username> [<username> ...]",
					"    Delete a list of users.",
				},
				run: (*call).aclDelUser,
			},
			{
				name: "dryrun", arity: -4, flags: admin, since: "7.0.0", complexity: "that of checking the command",
				summary: "Tells whether a user may run a command, without running it.",
				args: []arg{user, {name: "command", kind: kindString},
					{name: "arg", kind: kindString, optional: true, multiple: true}},
				help: []string{
					"DRYRUN <username> <command> [<arg> ...]",
					"    Returns whether the user can execute the given command without executing the command.",
				},
				run: (*call).aclDryRun,
			},
			{
				name: "getuser", arity: 3, flags: admin, since: "6.0.0", complexity: "O(N) for N rules of the user",
				summary: "Returns how a user logs in and what he may do.",
				args:    []arg{user},
				help: []string{
					"GETUSER <username>",
					"    Get the user's details.",
				},
				run: (*call).aclGetUser,
			},
			{
				name: "genpass", arity: -2, flags: flags, since: "6.0.0", complexity: "O(1)",
				summary: "Makes up a password of so many bits.",
				args:    []arg{{name: "bits", kind: kindInteger, optional: true}},
				help: []string{
					"GENPASS [<bits>]",
					"    Generate a secure 256-bit user password. The optional `bits` argument can",
					"    be used to specify a different size.",
				},
				run: (*call).aclGenPass,
			},
			{
				name: "list", arity: 2, flags: admin, since: "6.0.0", complexity: "O(N) for N rules of all users",
				summary: "Lists the users with their rules, as an ACL file does.",
				help: []string{
					"LIST",
					"    Show users details in config file format.",
				},
				run: (*call).aclList,
			},
			{
				name: "load", arity: 2, flags: admin, since: "6.0.0", complexity: "O(N+M) for N rules in the file and M connections",
				summary: "Makes the users those of the ACL file, all or none.",
				help: []string{
					"LOAD",
					"    Reload users from the ACL file.",
				},
				run: (*call).aclLoad,
			},
			{
				name: "log", arity: -2, flags: admin, since: "6.0.0", complexity: "O(N) for N entries",
				summary: "Lists what was refused to whom, the latest first, or forgets it.",
				args: []arg{{name: "operation", kind: kindOneOf, optional: true, args: []arg{
					{name: "count", kind: kindInteger},
					{name: "reset", kind: kindToken, token: "RESET"},
				}}},
				help: []string{
					"LOG [<count> | RESET]",
					"    Show the ACL log entries.",
				},
				run: (*call).aclLog,
			},
			{
				name: "save", arity: 2, flags: admin, since: "6.0.0", complexity: "O(N) for N rules of all users",
				summary: "Writes the users to the ACL file.",
				tips:    toAll,
				help: []string{
					"SAVE",
					"    Save the current config to the ACL file.",
				},
				run: (*call).aclSave,
			},
			{
				name: "setuser", arity: -3, flags: admin, since: "6.0.0", complexity: "O(N+M) for N rules and M connections",
				summary: "Creates a user or changes his rules, all or none.",
				tips:    toAll,
				args:    []arg{user, {name: "rule", kind: kindString, optional: true, multiple: true}},
				help: []string{
					"SETUSER <username> <attribute> [<attribute> ...]",
					"    Create or modify a user with the specified attributes.",
				},
				run: (*call).aclSetUser,
			},
			{
				name: "users", arity: 2, flags: admin, since: "6.0.0", complexity: "O(N) for N users",
				summary: "Lists the names of all users.",
				help: []string{
					"USERS",
					"    List all the registered usernames.",
				},
				run: (*call).aclUsers,
			},
			{
				name: "whoami", arity: 2, flags: flags, since: "6.0.0", complexity: "O(1)",
				summary: "Returns the name of the user that this connection is logged in as.",
				help: []string{
					"WHOAMI",
					"    Return the current connection username.",
				},
				run: func(c *call) { c.reply().BulkString(userName(c.session)) },
			},
			helpCommand("6.0.0", 0),
		},
	}
}

func (c *call) aclCat() {
	switch len(c.args) {
	case 2:
		writeStrings(c.reply(), c.d.users.Categories())
	case 3:
		names, ok := c.d.users.CommandsIn(string(c.args[2]))
		if !ok {
			c.fail("ERR Unknown category '" + echo(c.args[2]) + "'")
			return
		}
		writeStrings(c.reply(), names)
	default:
		c.fail(unknownOrArity(c.cmd.parent, c.args[1]))
	}
}

func (c *call) aclGenPass() {
	bits := int64(256)
	switch len(c.args) {
	case 2:
	case 3:
		var ok bool
		if bits, ok = parseInt(c.args[2]); !ok {
			c.fail(errNotInteger)
			return
		}
	default:
		c.fail(unknownOrArity(c.cmd.parent, c.args[1]))
		return
	}
	if bits < 1 || bits > acl.MaxPasswordBits {
		c.fail(errPasswordBits)
		return
	}
	c.reply().BulkString(acl.GeneratePassword(int(bits)))
}

// aclDryRun answers ACL DRYRUN. What is not allowed is no error but the text
// of one.
func (c *call) aclDryRun() {
	name, request := c.args[2], c.args[3:]
	u := c.d.users.Lookup(string(name))
	if u == nil {
		c.fail("ERR User '" + echoWhole(name) + "' not found")
		return
	}
	cmd := lookup(c.d.table.index, request[0])
	if cmd != nil && cmd.index != nil && len(request) > 1 {
		cmd = lookup(cmd.index, request[1])
	}
	switch {
	case cmd == nil:
		c.fail("ERR Command '" + echoWhole(request[0]) + "' not found")
		return
	case !cmd.arityMatches(len(request)):
		c.fail(wrongArity(cmd))
		return
	}
	denial := u.Rules().Check(cmd.number, request, cmd.channels.in(len(request)))
	switch denial.Reason {
	case acl.Allowed:
		c.reply().OK()
	case acl.DeniedChannel:
		c.reply().BulkString("User " + u.Name() + " has no permissions to access the '" + string(request[denial.Arg]) + "' channel")
	default:
		c.reply().BulkString("User " + u.Name() + " has no permissions to run the '" + cmd.fullName + "' command")
	}
}

// aclLog answers ACL LOG.
func (c *call) aclLog() {
	count := int64(10)
	switch {
	case len(c.args) > 3:
		c.fail(unknownOrArity(c.cmd.parent, c.args[1]))
		return
	case len(c.args) == 2:
	case is(c.args[2], "RESET"):
		c.d.users.Log().Reset()
		c.reply().OK()
		return
	default:
		var ok bool
		if count, ok = parseInt(c.args[2]); !ok {
			c.fail(errNotInteger)
			return
		}
	}
	entries, now := c.d.users.Log().Latest(int(min(count, 1<<31-1)))
	w := c.reply()
	w.Array(len(entries))
	for i := range entries {
		e := &entries[i]
		w.Map(10)
		w.BulkString("count")
		w.Int(e.Count)
		writePair(w, "reason", e.Reason.String())
		writePair(w, "context", e.Context.String())
		writePair(w, "object", e.Object)
		writePair(w, "username", e.User)
		w.BulkString("age-seconds")
		w.Double(float64(max(0, now.Sub(e.Updated).Milliseconds())) / 1000)
		writePair(w, "client-info", e.Client)
		w.BulkString("entry-id")
		w.Int(e.ID)
		w.BulkString("timestamp-created")
		w.Int(e.Created.UnixMilli())
		w.BulkString("timestamp-last-updated")
		w.Int(e.Updated.UnixMilli())
	}
}

// aclLoad answers ACL LOAD. A line that is refused is answered for, and
// nothing changes.
func (c *call) aclLoad() {
	type outcome struct {
		changes []acl.Change
		err     error
	}
	path, ok := c.aclFile()
	if !ok {
		return
	}
	d, s, fail := c.d, c.session, c.failLater()
	shard.Offload(s, func() outcome {
		changes, err := d.users.Load(path)
		return outcome{changes, err}
	}, func(o outcome) {
		if o.err != nil {
			fail("ERR " + o.err.Error())
			return
		}
		d.enforceEverywhere(s, o.changes, func() { s.Reply().OK() })
	})
}

func (c *call) aclSave() {
	path, ok := c.aclFile()
	if !ok {
		return
	}
	d, s, fail := c.d, c.session, c.failLater()
	shard.Offload(s, func() error { return d.users.Save(path) }, func(err error) {
		if err != nil {
			d.cfg.Log.Warn("cannot save the users", "file", path, "error", err)
			fail(errACLSave)
			return
		}
		s.Reply().OK()
	})
}

// aclFile returns the path of the ACL file. It has answered with an error when
// there is none.
func (c *call) aclFile() (path string, ok bool) {
	if c.d.cfg.ACLFile == "" {
		c.fail(errNoACLFile)
		return "", false
	}
	return c.d.cfg.ACLFile, true
}

// stringsOf returns words as strings of their own.
func stringsOf(words [][]byte) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return list
}
