package command

import "strings"

// helpCommand is the HELP row of a container.
func helpCommand(since string, categories category) *command {
	return &command{
		name: "help", arity: 2, flags: flagLoading | flagStale, categories: categories,
		since: since, complexity: "O(1)",
		summary: "Describes the subcommands in a few lines.",
		help:    []string{"HELP", "    Print this help."},
		run:     (*call).help,
	}
}

// help writes the lines of the container's rows under Redis's heading.
func (c *call) help() {
	container := c.cmd.parent
	lines := []string{strings.ToUpper(container.name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	lines = append(lines, container.help...)
	for _, sub := range container.subs {
		lines = append(lines, sub.help...)
	}
	w := c.reply()
	w.Array(len(lines))
	for _, line := range lines {
		w.Simple(line)
	}
}
