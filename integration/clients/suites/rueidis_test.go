package suites

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRueidis runs rueidis's tests of pub/sub. They are functions which the
// library calls with a client of its own for a fixed address, among tests that
// need keys; testdata/rueidis_broker_test.go calls them from within a copy of
// the package.
func TestRueidis(t *testing.T) {
	needSuites(t)
	dir, version := module(t, "github.com/redis/rueidis")
	copied := filepath.Join(t.TempDir(), "rueidis")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	calls, err := os.ReadFile(filepath.Join("testdata", "rueidis_broker_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, "broker_test.go"), calls, 0o600); err != nil {
		t.Fatal(err)
	}
	l := readList(t, "rueidis.txt")
	cmd := exec.Command(buildTests(t, copied), "-test.run", "^TestBroker$", "-test.v", "-test.timeout", patience.String())
	cmd.Env = append(os.Environ(), "BROKER_ADDR="+startBroker(t).Addr)
	out, err := cmd.CombinedOutput()
	passed, seen := 0, map[string]bool{}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		verdict, name, ok := strings.Cut(strings.TrimSpace(lines.Text()), ": TestBroker/")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, " ")
		seen[name] = true
		switch {
		case !l.run[name]:
			t.Errorf("the list does not name %q", name)
		case verdict == "--- PASS":
			passed++
		default:
			t.Errorf("%s %s", verdict, name)
		}
	}
	for name := range l.run {
		if !seen[name] {
			t.Errorf("%s was not run", name)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("rueidis %s: %d of %d tests passed", version, passed, len(l.run))
}
