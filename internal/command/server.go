// The server: description of commands, configuration, statistics, time.
//
// redis.io/docs/latest/commands/?group=server

package command

import (
	"strconv"
	"time"
)

func serverCommands() []*command {
	return []*command{
		aclContainer(),
		commandContainer(),
		configContainer(),
		{
			name: "info", arity: -1, flags: flagLoading | flagStale, categories: categoryDangerous,
			tips:  []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
			group: "server", since: "1.0.0", complexity: "O(1)",
			summary: "Returns the state and the statistics of the server, by sections.",
			args:    []arg{{name: "section", kind: kindString, optional: true, multiple: true}},
			run:     (*call).info,
		},
		{
			name: "time", arity: 1, flags: flagLoading | flagStale | flagFast,
			tips:  []string{"nondeterministic_output"},
			group: "server", since: "2.6.0", complexity: "O(1)",
			summary: "Returns the server's clock as seconds and microseconds.",
			run:     (*call).time,
		},
		{
			name: "monitor", arity: 1, flags: flagAdmin | flagNoScript | flagLoading | flagStale, blocks: true,
			group: "server", since: "1.0.0", complexity: "O(N) for N commands that are shown",
			summary: "Shows every command that runs, administrative ones excepted.",
			run:     (*call).monitor,
		},
		{
			name: "role", arity: 1, flags: flagNoScript | flagLoading | flagStale | flagFast,
			categories: categoryAdmin | categoryDangerous,
			group:      "server", since: "2.8.12", complexity: "O(1)",
			summary: "Returns the role in replication: a master without replicas.",
			run:     (*call).role,
		},
		{
			name: "lolwut", arity: -1, flags: flagReadOnly | flagFast,
			group: "server", since: "5.0.0", complexity: "O(1)",
			summary: "Draws a picture and names the version.",
			args:    []arg{{name: "version", kind: kindInteger, token: "VERSION", optional: true}},
			run:     (*call).lolwut,
		},
		dbSizeCommand(),
		flushCommand("flushall", "Accepts to remove all keys; there are none."),
		flushCommand("flushdb", "Accepts to remove the keys of the database; there are none."),
		debugCommand(),
		shutdownCommand(),
		slowlogContainer(),
		moduleContainer(),
		latencyContainer(),
		memoryContainer(),
	}
}

func (c *call) time() {
	micros := time.Now().UnixMicro()
	w := c.reply()
	w.Array(2)
	w.BulkString(strconv.FormatInt(micros/1e6, 10))
	w.BulkString(strconv.FormatInt(micros%1e6, 10))
}

func (c *call) role() {
	w := c.reply()
	w.Array(3)
	w.BulkString("master")
	w.Int(0) // replication offset
	w.Array(0)
}
