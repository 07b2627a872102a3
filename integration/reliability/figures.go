package reliability

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Note prints what a checker measured, one line without a line break or "|",
// and keeps it under key in the folder that FIGURES names, if any. The key
// must be one of the claims. A checker that failed says and leaves nothing: a
// figure tells that its claim held.
func Note(tb testing.TB, key, format string, args ...any) {
	tb.Helper()
	if !known(key) {
		tb.Fatalf("no claim has the key %q", key)
	}
	figure := fmt.Sprintf(format, args...)
	if strings.ContainsAny(figure, "\r\n|") {
		tb.Fatalf("%s: a figure does not fit into a cell: %q", key, figure)
	}
	if tb.Failed() {
		return
	}
	tb.Logf("%s: %s", key, figure)
	folder := os.Getenv("FIGURES")
	if folder == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(folder, key+".txt"), []byte(figure+"\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func known(key string) bool {
	for _, c := range claims {
		if c.key == key {
			return true
		}
	}
	return false
}

// table returns the README's rows: the claims of which folder holds a figure.
func table(folder string) (string, error) {
	var b strings.Builder
	b.WriteString("| Checked | Last full run |\n| --- | --- |\n")
	for _, c := range claims {
		figure, err := os.ReadFile(filepath.Join(folder, c.key+".txt"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s | %s |\n", c.says, strings.TrimSpace(string(figure)))
	}
	return b.String(), nil
}
