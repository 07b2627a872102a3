package command

import (
	"broker/internal/acl"
	"broker/resp"
)

func (c *call) aclSetUser() {
	change, err := c.d.users.SetUser(string(c.args[2]), stringsOf(c.args[3:]))
	if err != nil {
		c.fail("ERR " + err.Error())
		return
	}
	s := c.session
	c.d.enforceEverywhere(s, []acl.Change{change}, func() { s.Reply().OK() })
}

// aclDelUser answers ACL DELUSER with the number of users that were there.
func (c *call) aclDelUser() {
	changes, err := c.d.users.DeleteUsers(stringsOf(c.args[2:]))
	if err != nil {
		c.fail("ERR " + err.Error())
		return
	}
	s := c.session
	c.d.enforceEverywhere(s, changes, func() { s.Reply().Int(int64(len(changes))) })
}

func (c *call) aclUsers() {
	users := c.d.users.Users()
	w := c.reply()
	w.Array(len(users))
	for _, u := range users {
		w.BulkString(u.Name())
	}
}

func (c *call) aclList() {
	users := c.d.users.Users()
	w := c.reply()
	w.Array(len(users))
	for _, u := range users {
		w.BulkString("user " + u.Name() + " " + u.Rules().String())
	}
}

// aclGetUser answers ACL GETUSER; the permissions outside parentheses stand
// beside the flags, as they did when there were no selectors.
func (c *call) aclGetUser() {
	w := c.reply()
	u := c.d.users.Lookup(string(c.args[2]))
	if u == nil {
		w.Null()
		return
	}
	rules := u.Rules()
	w.Map(6)
	w.BulkString("flags")
	flags := rules.Flags()
	w.Set(len(flags))
	for _, flag := range flags {
		w.BulkString(flag)
	}
	w.BulkString("passwords")
	writeStrings(w, rules.Passwords())
	selectors := rules.Selectors()
	writeSelector(w, selectors[0])
	w.BulkString("selectors")
	w.Array(len(selectors) - 1)
	for _, s := range selectors[1:] {
		w.Map(3)
		writeSelector(w, s)
	}
}

func writeSelector(w *resp.Writer, s acl.Selector) {
	writePair(w, "commands", s.Commands)
	writePair(w, "keys", s.Keys)
	writePair(w, "channels", s.Channels)
}
