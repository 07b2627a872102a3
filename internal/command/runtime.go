package command

// Runtime is what the command layer can be told anew while it runs.
type Runtime struct {
	// MaxSubscriptions is how many channels, shard channels and patterns
	// together a session may hold; 0: no limit.
	MaxSubscriptions int

	// MaxPatternBytes is the longest pattern that a session may subscribe to;
	// 0: no limit.
	MaxPatternBytes int
}

// Configure replaces what Runtime says, from the next command on. It may be
// called from any goroutine.
func (d *Dispatcher) Configure(r Runtime) { d.runtime.Store(&r) }
