package reliability

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the README's table of reliability from testdata/figures")

const (
	readme  = "../../README.md"
	figures = "testdata/figures"
)

// TestREADME_ShowsTheFigures compares the README's table with the committed
// figures. With -update it writes the table.
func TestREADME_ShowsTheFigures(t *testing.T) {
	const begin, end = "<!-- reliability:begin -->\n", "<!-- reliability:end -->"
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no section between %q and %q", readme, begin, end)
	}
	want, err := table(figures)
	if err != nil {
		t.Fatal(err)
	}
	if got == want {
		return
	}
	if !*update {
		t.Fatal("the table differs from the figures; go test ./integration/reliability -update rewrites it")
	}
	if err := os.WriteFile(readme, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFigures_BelongToClaims finds figures whose checker was renamed, and
// claims that stand twice.
func TestFigures_BelongToClaims(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(figures, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if key := strings.TrimSuffix(filepath.Base(f), ".txt"); !known(key) {
			t.Errorf("%s: no claim has this key", f)
		}
	}
	seen := map[string]bool{}
	for _, c := range claims {
		if seen[c.key] || c.says == "" {
			t.Errorf("claim %q stands twice or says nothing", c.key)
		}
		seen[c.key] = true
	}
}

func TestTable_HasARowForEachFigureInTheOrderOfTheClaims(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("FIGURES", folder)
	last, first := claims[len(claims)-1], claims[0]
	Note(t, last.key, "%d of %d", 3, 4)
	Note(t, first.key, "one")
	got, err := table(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := "| Checked | Last full run |\n| --- | --- |\n| " + first.says + " | one |\n| " + last.says + " | 3 of 4 |\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
