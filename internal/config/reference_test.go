package config

import (
	"fmt"
	"strings"
	"testing"
)

const referencePath = "../../docs/configuration.md"

// referenceDoc returns what docs/configuration.md has to contain.
func referenceDoc() string {
	var b strings.Builder
	b.WriteString(`# Configuration

Every parameter, with its environment variable. The file is made from the table
in ` + "`internal/config`" + ` (go test ./internal/config -run Reference -update).

Values come from these places, each over the one before, parameter by parameter:

1. the defaults below;
2. ` + "`" + defaultsVariable + "`" + ` in the environment: flags that a package or an image sets;
3. the file that the first argument names, in redis.conf's syntax;
4. the environment;
5. the command line: ` + "`--name value`" + ` or ` + "`--name=value`" + `.

Sizes take the units b, k, kb, m, mb, g and gb: 1kb is 1024 bytes, 1k is 1000. What
` + "`CONFIG SET`" + ` can change changes at once, for clients that are connected too;
` + "`CONFIG REWRITE`" + ` keeps it in the file. ` + "`broker check`" + ` says what is wrong with a
configuration without starting.

`)
	for _, p := range settings() {
		fmt.Fprintf(&b, "## %s\n\n", p.name)
		text := strings.ToUpper(p.doc[:1]) + p.doc[1:] + "."
		wrap(&b, "", text, 80)
		b.WriteString("\n| | |\n| --- | --- |\n")
		fmt.Fprintf(&b, "| Value | `%s` |\n", strings.ReplaceAll(p.args, "|", `\|`))
		def := "empty"
		if p.lines {
			def = "none"
		} else if p.def != "" {
			def = "`" + p.def + "`"
		}
		fmt.Fprintf(&b, "| Default | %s |\n", def)
		fmt.Fprintf(&b, "| Environment | `%s` |\n", variableName(p.name))
		set := "yes"
		if p.atStart {
			set = "no, at start only"
		}
		fmt.Fprintf(&b, "| `CONFIG SET` | %s |\n", set)
		if p.secret {
			b.WriteString("| Secret | errors and the log do not show it |\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("## What has one value\n\nRedis's parameters about what the broker does not have. Another value ends the\nstart.\n\n")
	b.WriteString(factTable())
	return b.String()
}

func TestReference_IsUpToDate(t *testing.T) {
	checkDocument(t, referencePath, "", "", referenceDoc())
}
