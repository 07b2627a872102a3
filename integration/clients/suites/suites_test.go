package suites

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"broker/integration/harness"
)

var suites = flag.Bool("suites", false, "run the libraries' own tests, which fetches their modules")

// patience is how long one suite may run.
const patience = 3 * time.Minute

// module returns the folder of a module of the client programs, whose go.mod
// says which version that is. It is fetched when it is not there, and must not
// be written to.
func module(t *testing.T, path string) (dir, version string) {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", path)
	cmd.Dir = filepath.Join("..", "programs", "go")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	var m struct{ Dir, Version string }
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m.Dir, m.Version
}

// buildTests builds the tests of the package in dir and returns the program's
// path.
func buildTests(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "suite.test")
	// Trimmed paths let the build cache serve a copy of the folder too.
	cmd := exec.Command("go", "test", "-trimpath", "-c", "-o", path, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the tests: %v\n%s", err, out)
	}
	return path
}

// startBroker starts the broker's program without any flags that matter here.
func startBroker(t *testing.T) *harness.Target {
	t.Helper()
	return harness.StartBinaryAt(t, harness.BuildBinary(t, t.TempDir()), "")
}

// A list says which tests of a suite are run and why the others are not.
type list struct {
	run  map[string]bool
	skip map[string]string // the reasons
}

// readList reads testdata/name: lines "run TEST" and "skip TEST: REASON", and
// comments that begin with #.
func readList(t *testing.T, name string) list {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := list{run: map[string]bool{}, skip: map[string]string{}}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		verb, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || verb == "#":
			continue
		case verb == "run":
			l.run[rest] = true
			continue
		case verb == "skip":
			// The name may hold a colon, the reason does not.
			if at := strings.LastIndex(rest, ": "); at >= 0 {
				l.skip[rest[:at]] = rest[at+2:]
				continue
			}
		}
		t.Fatalf("%s: %q is no line of a list", name, line)
	}
	return l
}

func needSuites(t *testing.T) {
	t.Helper()
	if !*suites {
		t.Skip("optional: make client-suites runs it")
	}
}
