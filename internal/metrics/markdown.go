package metrics

import (
	"fmt"
	"strings"

	"broker/shard"
)

// Names returns the names of all metrics of the table, in its order; those of
// a histogram's series derive from its name.
func Names() []string {
	var names []string
	for _, m := range table() {
		names = append(names, m.name)
	}
	return names
}

// Markdown returns the table for people, as docs/metrics.md contains it.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| Metric | Type | Labels | |\n| --- | --- | --- | --- |\n")
	for _, m := range table() {
		labels := ""
		for i, l := range m.labels {
			if i > 0 {
				labels += ", "
			}
			labels += "`" + l + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, strings.ReplaceAll(m.help, "|", `\|`))
	}
	return b.String()
}

// CloseReasons returns the values of the label reason of
// broker_connections_closed_total.
func CloseReasons() []string {
	reasons := make([]string, 0, len(shard.Stats{}.Closed))
	for r := range (shard.Stats{}).Closed {
		reasons = append(reasons, closeLabel(shard.CloseReason(r)))
	}
	return reasons
}
