package command

import "strings"

func configContainer() *command {
	const flags = flagAdmin | flagNoScript | flagLoading | flagStale
	return &command{
		name: "config", arity: -2,
		group: "server", since: "2.0.0", complexity: "that of the subcommand",
		summary: "Tells the server's configuration, and resets its statistics.",
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
				name: "resetstat", arity: 2, flags: flags, since: "2.0.0",
				complexity: "O(1)",
				summary:    "Sets the counters that INFO shows back to zero.",
				help: []string{
					"RESETSTAT",
					"    Reset statistics reported by the INFO command.",
				},
				run: (*call).configResetStat,
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
	w := c.reply()
	w.Map(len(found))
	for _, pair := range found {
		w.BulkString(pair[0])
		w.BulkString(pair[1])
	}
}
