package command

// Runtime is what the command layer can be told anew while it runs.
type Runtime struct {
	// MaxSubscriptions is how many channels, shard channels and patterns
	// together a session may hold; 0: no limit.
	MaxSubscriptions int

	// MaxPatternBytes is the longest pattern that a session may subscribe to;
	// 0: no limit.
	MaxPatternBytes int

	// RequirePass is the password of the default user, who gets it when it
	// differs from the one before. Empty: none is needed.
	RequirePass string

	// AllChannels gives new users all channels (acl-pubsub-default).
	AllChannels bool

	// ACLLogLen is the number of entries that ACL LOG keeps; 0: none.
	ACLLogLen int
}

// Configure replaces what Runtime says, from the next command on. It may be
// called from any goroutine, by one at a time.
func (d *Dispatcher) Configure(r Runtime) {
	before := d.runtime.Swap(&r)
	d.users.SetAllChannels(r.AllChannels)
	d.users.Log().Resize(r.ACLLogLen)
	if before != nil && r.RequirePass != before.RequirePass {
		d.users.SetDefaultPassword(r.RequirePass)
	}
}
