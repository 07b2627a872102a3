package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// fakeHarness puts a shell script in tclsh's place and returns a working copy
// of nothing for it to run in.
func fakeHarness(t *testing.T, script string) *workdir {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "tclsh"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return &workdir{path: t.TempDir(), port: 30000, shards: 3}
}

func TestRunUnit_PassesTheListOn(t *testing.T) {
	w := fakeHarness(t, `
echo "[ok]: $* (1 ms)"
while read -r name || [ -n "$name" ]; do echo "[skip]: $name"; done < skip
echo "The End"
`)
	s := suite{server: "valkey-server", binDir: "X_BIN"}
	u := &unit{name: "one", skipped: []string{"a b", "c"}, deny: []string{"slow"}}
	args := func(o *outcome) string {
		for args := range o.passed {
			return args
		}
		return ""
	}
	o, err := s.runUnit(t.Context(), w, u, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if o.skipped["a b"] != 1 || o.skipped["c"] != 1 || len(o.faults) > 0 || strings.Contains(args(o), "--only") {
		t.Errorf("outcome %+v", o)
	}
	if o, err = s.runUnit(t.Context(), w, u, "just this", time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--single unit/one", "--baseport 30000 --portcount 900", "--only just this", "--tags -slow", "--config shards 3"} {
		if !strings.Contains(args(o), want) {
			t.Errorf("no %q in %q", want, args(o))
		}
	}
	if len(o.skipped) > 0 {
		t.Errorf("skipped %v although only one test was asked for", o.skipped)
	}
}

// A server that the harness forgets must not hold the next unit's ports.
func TestRunUnit_LeavesNoProcessBehind(t *testing.T) {
	for name, script := range map[string]string{
		"forgotten": "sleep 600 >/dev/null 2>&1 & echo $! > pid; echo 'The End'\n",
		"stuck":     "sleep 600 & echo $! > pid; wait\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := fakeHarness(t, script)
			o, err := suite{}.runUnit(t.Context(), w, &unit{name: "one"}, "", 2*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if stuck := len(o.faults) > 0; stuck != (name == "stuck") {
				t.Errorf("faults %q", o.faults)
			}
			text, err := os.ReadFile(filepath.Join(w.path, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			if !gone(pid) {
				syscall.Kill(pid, syscall.SIGKILL)
				t.Errorf("process %d still runs", pid)
			}
		})
	}
}

// gone reports whether the process has ended, reaped or not.
func gone(pid int) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return true
		}
	}
	return false
}

func TestRunJobs(t *testing.T) {
	workdirs := []*workdir{{port: 1}, {port: 2}}
	var ran, busy [3]atomic.Int32
	job := func(w *workdir) error {
		if busy[w.port].Add(1) != 1 {
			t.Errorf("two jobs in working copy %d", w.port)
		}
		ran[0].Add(1)
		busy[w.port].Add(-1)
		return nil
	}
	var jobs []func(*workdir) error
	for range 50 {
		jobs = append(jobs, job)
	}
	if err := runJobs(t.Context(), workdirs, jobs); err != nil || ran[0].Load() != 50 {
		t.Errorf("ran %d of 50: %v", ran[0].Load(), err)
	}

	broken := errors.New("broken")
	jobs[0] = func(*workdir) error { return broken }
	if err := runJobs(t.Context(), workdirs, jobs); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the job", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran[0].Store(0)
	if err := runJobs(ctx, workdirs, jobs[1:]); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	// A job that is ready may be taken yet, by the toss of a coin each.
	if ran[0].Load() == 49 {
		t.Error("all jobs were run although the context had ended before")
	}
}

func TestNewWorkdir(t *testing.T) {
	source, bin := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(source, "tests/assets/default.conf"): "port 1\npidfile /x.pid\nsave 900 1\nsaved yes\ndir ./\n",
		filepath.Join(bin, "redis-cli"):                    "",
		filepath.Join(bin, "it's"):                         "#!/bin/sh\necho broker $$ \"${1##*/}:$2\" in $(pwd)\n",
		filepath.Join(bin, "redis-benchmark"):              "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s := suite{server: "valkey-server"}
	w, err := s.newWorkdir(t.TempDir(), source, filepath.Join(bin, "it's"), 2)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(w.path, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got, want := read("tests/assets/default.conf"), "port 1\nsaved yes\ndir ./\n"; got != want {
		t.Errorf("configuration %q, want %q", got, want)
	}
	server := exec.Command("src/valkey-server", "tests/assets/default.conf", "--a b")
	server.Dir = w.path
	out, err := server.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	pid := server.Process.Pid
	if got, want := read("tests/assets/default.conf"), "port 1\nsaved yes\ndir "+w.path+"\n"; got != want {
		t.Errorf("configuration after the start %q, want %q", got, want)
	}
	if got, want := string(out), fmt.Sprintf(" PID: %d (before Server initialized)\nbroker %d default.conf:--a b in %s\n", pid, pid, w.path); got != want {
		t.Errorf("server said %q, want %q", got, want)
	}
	read("src/valkey-cli")
	if w.port != firstPort+2*portsPerJob {
		t.Errorf("port %d", w.port)
	}
}

func TestPickMirror(t *testing.T) {
	cases := []struct{ name, targets, want string }{
		{"by origin", "Other|x|http://a/other/\nDebian|bookworm-security|http://s/debian-security/\nDebian|bookworm|http://m/mirror/\n", "http://m/mirror/"},
		{"index not fetched yet", "$(ORIGIN)|bookworm-security|http://s/debian-security/\n$(ORIGIN)|bookworm|http://m/debian/\n", "http://m/debian/"},
		{"none", "Ubuntu|noble|http://u/ubuntu/\n", ""},
		{"not apt's form", "oops\n", ""},
	}
	for _, tc := range cases {
		got, err := pickMirror(tc.targets)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %q, %v, want %q", tc.name, got, err, tc.want)
		}
	}
}
