// The cluster. This broker is in none.
//
// redis.io/docs/latest/commands/?group=cluster

package command

func clusterCommands() []*command {
	refuse := func(c *call) { c.fail(errNoCluster) }
	readMode := func(name string) *command {
		return &command{
			name: name, arity: 1, flags: flagLoading | flagStale | flagFast, categories: categoryConnection,
			group: "cluster", since: "3.0.0", complexity: "O(1)",
			summary: "Answers that this server is in no cluster.",
			run:     refuse,
		}
	}
	return []*command{
		{
			name: "cluster", arity: -2,
			group: "cluster", since: "3.0.0", complexity: "O(1)",
			summary: "Answers, whatever the subcommand, that this server is in no cluster.",
			args: []arg{
				{name: "subcommand", kind: kindString},
				{name: "arg", kind: kindString, optional: true, multiple: true},
			},
			run: refuse,
		},
		readMode("readonly"),
		readMode("readwrite"),
	}
}
