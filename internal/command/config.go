package command

import (
	"slices"
	"strings"

	"broker/shard"
)

func configContainer() *command {
	const flags = flagAdmin | flagNoScript | flagLoading | flagStale
	return &command{
		name: "config", arity: -2,
		group: "server", since: "2.0.0", complexity: "that of the subcommand",
		summary: "Tells and changes the server's configuration, and resets its statistics.",
		subs: []*command{
			{
				name: "get", arity: -3, flags: flags, since: "2.0.0",
				complexity: "O(N*M) for N patterns and M parameters",
				summary:    "Returns the parameters whose names match, with their values.",
				args:       []arg{{name: "parameter", kind: kindString, multiple: true}},
				help: []string{
					"GET <pattern>",
					"    Return parameters matching the glob-like <pattern> and their values.",
				},
				run: (*call).configGet,
			},
			{
				name: "set", arity: -4, flags: flags, since: "2.0.0",
				complexity: "O(N) for N parameters, and what opening ports takes",
				summary:    "Changes parameters, all that are named or none.",
				tips:       []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
				args:       []arg{{name: "data", kind: kindBlock, multiple: true, args: []arg{{name: "parameter", kind: kindString}, {name: "value", kind: kindString}}}},
				help: []string{
					"SET <directive> <value>",
					"    Set the configuration <directive> to <value>.",
				},
				run: (*call).configSet,
			},
			{
				name: "resetstat", arity: 2, flags: flags, since: "2.0.0",
				complexity: "O(1)",
				summary:    "Sets the counters that INFO shows back to zero.",
				help: []string{
					"RESETSTAT",
					"    Reset statistics reported by the INFO command.",
				},
				run: (*call).configResetStat,
			},
			{
				name: "rewrite", arity: 2, flags: flags, since: "2.8.0",
				complexity: "O(N) for N lines of the file",
				summary:    "Writes the configuration to the file it came from.",
				help: []string{
					"REWRITE",
					"    Rewrite the configuration file.",
				},
				run: (*call).configRewrite,
			},
			helpCommand("5.0.0", 0),
		},
	}
}

// configGet returns every parameter once, whatever number of arguments match
// it. A name without wildcards is answered in the spelling that was asked for.
func (c *call) configGet() {
	patterns := c.args[2:]
	if len(patterns) > maxNames {
		c.fail(errTooManyNames)
		return
	}
	var found [][2]string
	seen := map[string]bool{}
	for _, p := range patterns {
		pattern := string(p)
		exact := !strings.ContainsAny(pattern, "[*?")
		for _, pair := range c.d.cfg.Params(pattern) {
			name := strings.ToLower(pair[0])
			if seen[name] || exact && !strings.EqualFold(pattern, name) {
				continue
			}
			seen[name] = true
			if exact {
				pair[0] = pattern
			}
			found = append(found, pair)
		}
	}
	// Redis promises no order; Valkey sorts.
	slices.SortFunc(found, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	w := c.reply()
	w.Map(len(found))
	for _, pair := range found {
		w.BulkString(pair[0])
		w.BulkString(pair[1])
	}
}

// param returns the value of one parameter as CONFIG GET shows it, "" when
// there is none of that name.
func (d *Dispatcher) param(name string) string {
	for _, pair := range d.cfg.Params(name) {
		return pair[1]
	}
	return ""
}

// configSet changes parameters. It is answered when all loops keep to them,
// which they do also when the client does not wait for that.
func (c *call) configSet() {
	words := c.args[2:]
	switch {
	case len(words)%2 != 0:
		c.fail(errSyntax)
		return
	case len(words) > 2*maxNames:
		c.fail(errTooManyNames)
		return
	}
	pairs := make([][2]string, 0, len(words)/2)
	for ; len(words) > 0; words = words[2:] {
		pairs = append(pairs, [2]string{string(words[0]), string(words[1])})
	}
	cfg, s, fail := &c.d.cfg, c.session, c.failLater()
	loop := s.Loop()
	shard.Offload(s, func() error {
		err := cfg.SetParams(pairs)
		if err == nil {
			loop.Post(func(l *shard.Loop) { l.Tell(cfg.Apply) })
		}
		return err
	}, func(err error) {
		if err != nil {
			fail(err.Error())
			return
		}
		// Every loop runs this behind Apply.
		shard.Gather(s, func(*shard.Loop) struct{} { return struct{}{} }, func([]struct{}) { s.Reply().OK() })
	})
}

func (c *call) configRewrite() {
	s, fail := c.session, c.failLater()
	shard.Offload(s, c.d.cfg.RewriteParams, func(err error) {
		if err != nil {
			fail(err.Error())
			return
		}
		s.Reply().OK()
	})
}
