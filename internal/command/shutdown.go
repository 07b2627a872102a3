// SHUTDOWN.
//
// redis.io/docs/latest/commands/shutdown

package command

func shutdownCommand() *command {
	return &command{
		name: "shutdown", arity: -1, flags: flagAdmin | flagNoScript | flagLoading | flagStale | flagNoMulti | flagAllowBusy,
		notInMulti: true,
		group:      "server", since: "1.0.0", complexity: "O(N) for N connections",
		summary: "Ends the broker once what was acknowledged is delivered. Nothing is saved, whatever the options.",
		args: []arg{
			{name: "save-selector", kind: kindOneOf, optional: true, args: []arg{
				{name: "nosave", kind: kindToken, token: "NOSAVE"},
				{name: "save", kind: kindToken, token: "SAVE"},
			}},
			{name: "now", kind: kindToken, token: "NOW", since: "7.0.0", optional: true},
			{name: "force", kind: kindToken, token: "FORCE", since: "7.0.0", optional: true},
			{name: "abort", kind: kindToken, token: "ABORT", since: "7.0.0", optional: true},
		},
		run: (*call).shutdown,
	}
}

// shutdown is not answered when it succeeds. No command is run once the end has
// begun, so there is never one to abort.
func (c *call) shutdown() {
	var save, noSave, other, abort bool
	for _, word := range c.args[1:] {
		switch {
		case is(word, "SAVE"):
			save = true
		case is(word, "NOSAVE"):
			noSave = true
		case is(word, "NOW"), is(word, "FORCE"):
			other = true
		case is(word, "ABORT"):
			abort = true
		default:
			c.fail(errSyntax)
			return
		}
	}
	switch {
	case save && noSave, abort && (save || noSave || other):
		c.fail(errSyntax)
		return
	case abort:
		c.fail(errNoShutdown)
		return
	}
	s := c.session
	s.Suspend() // it ends with the broker
	c.d.cfg.Log.Warn("User requested shutdown", "addr", s.Addr())
	c.d.cfg.Shutdown()
}
