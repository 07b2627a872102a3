package command

import (
	"os"
	"strings"
	"testing"
)

// TestREADME_ListsTheCommands compares the list in the README with the table.
// With -update it writes the list.
func TestREADME_ListsTheCommands(t *testing.T) {
	const path, begin, end = "../../README.md", "<!-- commands:begin -->\n", "<!-- commands:end -->"
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(readme), begin)
	list, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no section between %q and %q", path, begin, end)
	}
	if list == Markdown() {
		return
	}
	if !*update {
		t.Fatal("the command list differs from the table; go test ./internal/command -run README -update rewrites it")
	}
	if err := os.WriteFile(path, []byte(before+begin+Markdown()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMarkdown_HasOneRowPerCommandThatRuns(t *testing.T) {
	list := Markdown()
	rows := 0
	for _, c := range newTable().rows {
		if c.run == nil {
			continue
		}
		rows++
		if !strings.Contains(list, "| `"+markdownCell(c.syntax())+"` | "+c.since+" | ") {
			t.Errorf("%s is missing", c.fullName)
		}
	}
	if got := strings.Count(list, "\n| `"); got != rows {
		t.Errorf("%d rows, want %d", got, rows)
	}
	for l := range strings.Lines(list) {
		if n := strings.Count(l, "|") - strings.Count(l, `\|`); strings.HasPrefix(l, "|") && n != 4 {
			t.Errorf("%d cell borders in %q", n, l)
		}
	}
}
