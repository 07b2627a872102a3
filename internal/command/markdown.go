package command

import (
	"fmt"
	"strings"
)

// groupTitles are the headings of the groups in the README, by the group's
// name in its documentation's address.
var groupTitles = map[string]string{
	"pubsub":       "Pub/sub",
	"connection":   "Connection",
	"transactions": "Transactions",
	"server":       "Server",
	"generic":      "Keys in general",
	"string":       "Strings",
	"stream":       "Streams",
	"scripting":    "Scripting",
	"cluster":      "Cluster",
}

// Markdown returns the command list of the README: one table per group, one
// row per command and subcommand. It ends with a newline.
func Markdown() string {
	var b strings.Builder
	group := ""
	for _, cmd := range newTable().rows {
		if cmd.group != group {
			if group != "" {
				b.WriteByte('\n')
			}
			group = cmd.group
			fmt.Fprintf(&b, "**[%s](https://redis.io/docs/latest/commands/?group=%s)**\n\n", groupTitles[group], group)
			b.WriteString("| Command | Since Redis | |\n| --- | --- | --- |\n")
		}
		if cmd.run == nil {
			continue // a container that is nothing without a subcommand
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", markdownCell(cmd.syntax()), cmd.since, markdownCell(cmd.summary))
	}
	return b.String()
}

// markdownCell escapes what would end a table's cell, in code as well.
func markdownCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
