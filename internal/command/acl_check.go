package command

import (
	"broker/internal/acl"
	"broker/shard"
)

// A channelUse says which arguments of a command are channels that its user
// must be allowed.
type channelUse uint8

const (
	noChannels   channelUse = iota
	firstChannel            // the first argument
	allChannels             // all arguments
	allPatterns             // all arguments, as patterns that are subscribed to
)

// in returns the channels of a request of n words.
func (u channelUse) in(n int) acl.Channels {
	switch u {
	case firstChannel:
		return acl.Channels{First: 1, End: min(n, 2)}
	case allChannels, allPatterns:
		return acl.Channels{First: 1, End: n, Patterns: u == allPatterns}
	}
	return acl.Channels{}
}

// newUsers returns the users that rules about the table's commands are for.
func newUsers(t *table) *acl.Store {
	commands := make([]acl.Command, len(t.rows))
	for i, row := range t.rows {
		commands[i] = acl.Command{
			Name: row.fullName, Number: row.number,
			Categories: row.acl().names(), NoAuth: row.flags&flagNoAuth != 0,
		}
	}
	return acl.NewStore(acl.Config{Commands: commands})
}

// Users returns the users. They may be changed by any goroutine while nobody
// is connected; later only ACL commands do, which also look after the sessions
// that a change concerns.
func (d *Dispatcher) Users() *acl.Store { return d.users }

// permitted checks the session's user against a command, and counts and logs
// what is refused.
func (d *Dispatcher) permitted(s *shard.Session, l *local, st *connState, cmd *command, args [][]byte) acl.Denial {
	if st == nil || !st.restricted {
		return acl.Denial{}
	}
	u := d.orDefault(st)
	denial := u.Rules().Check(cmd.number, args, cmd.channels.in(len(args)))
	if denial.Reason == acl.Allowed {
		return denial
	}
	l.countDenial(denial.Reason)
	object := cmd.fullName
	if denial.Reason == acl.DeniedChannel {
		object = string(args[denial.Arg])
	}
	d.logDenial(s, denial.Reason, inMulti(s), object, u.Name())
	return denial
}

func (d *Dispatcher) logDenial(s *shard.Session, reason acl.Reason, inMulti bool, object, user string) {
	if d.runtime.Load().ACLLogLen == 0 {
		return
	}
	context := acl.TopLevel
	if inMulti {
		context = acl.InMulti
	}
	line := appendClientLine(nil, s, s.Loop())
	d.users.Log().Add(acl.Event{
		Reason: reason, Context: context, Object: object, User: user,
		Client: string(line[:len(line)-1]),
	})
}

// noPermission is the answer to a command that is refused before it runs.
func noPermission(u *acl.User, cmd *command, denial acl.Denial) string {
	if denial.Reason == acl.DeniedChannel {
		return "NOPERM No permissions to access a channel"
	}
	return "NOPERM User " + u.Name() + " has no permissions to run the '" + cmd.fullName + "' command"
}

// noPermissionAnyMore is the answer to a command that could be queued and may
// not be run.
func noPermissionAnyMore(denial acl.Denial) string {
	reason := "no permission to execute the command or subcommand"
	if denial.Reason == acl.DeniedChannel {
		reason = "no permission to access one of the channels used as arguments to the command"
	}
	return "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: " + reason
}
