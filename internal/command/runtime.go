package command

import "time"

// Runtime is what the command layer can be told anew while it runs.
type Runtime struct {
	// MaxSubscriptions is how many channels, shard channels and patterns
	// together a session may hold; 0: no limit.
	MaxSubscriptions int

	// MaxPatternBytes is the longest pattern that a session may subscribe to;
	// 0: no limit.
	MaxPatternBytes int

	// SlowlogSlowerThan is the time from which on SLOWLOG keeps a command; 0
	// keeps all, a negative one none.
	SlowlogSlowerThan time.Duration

	// SlowlogMaxLen is how many entries SLOWLOG keeps; 0: none.
	SlowlogMaxLen int

	// LatencyTracking: a histogram of its times is kept for each command.
	LatencyTracking bool

	// LatencyPercentiles are those that INFO latencystats shows, between 0 and
	// 100. The slice is not written any more.
	LatencyPercentiles []float64

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
	d.mu.Lock()
	before := d.runtime.Swap(&r)
	d.setAlert(alertExact, r.keepsSlow() && r.SlowlogSlowerThan < exactBelow)
	d.mu.Unlock()
	d.users.SetAllChannels(r.AllChannels)
	d.users.Log().Resize(r.ACLLogLen)
	if before != nil && r.RequirePass != before.RequirePass {
		d.users.SetDefaultPassword(r.RequirePass)
	}
}

// keepsSlow reports whether there is a slow log.
func (r *Runtime) keepsSlow() bool { return r.SlowlogSlowerThan >= 0 && r.SlowlogMaxLen > 0 }

// exactBelow is the threshold of the slow log below which the time of every
// single command is taken. A command of a run that is slower than this is seen
// in the run's average.
const exactBelow = time.Millisecond
