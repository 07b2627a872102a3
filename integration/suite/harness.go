package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An outcome is what the harness said about one unit.
type outcome struct {
	passed  map[string]int      // tests by name
	skipped map[string]int      // the same
	failed  map[string][]string // the details of each failure
	order   []string            // the keys of failed, as they came
	// Faults that belong to no test: a server that did not start, an error
	// between two tests, a harness that did not come to its end.
	faults  []string
	ignored []string // what the harness said about each group that it left out
	elapsed time.Duration
}

// runUnit lets the harness run the unit without the tests that the list skips,
// or when only is not empty that test alone. It blocks until the harness and all the
// servers it started are gone, for limit at most.
func (s suite) runUnit(ctx context.Context, w *workdir, u *unit, only string, limit time.Duration) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	skipFile := filepath.Join(w.path, "skip")
	var skip string
	if only == "" {
		skip = strings.Join(u.skipped, "\n")
	}
	if err := os.WriteFile(skipFile, []byte(skip), 0o644); err != nil {
		return nil, err
	}
	args := []string{
		"tests/test_helper.tcl", "--single", "unit/" + u.name, "--clients", "1", "--durable",
		"--baseport", strconv.Itoa(w.port), "--portcount", strconv.Itoa(portsPerJob - 100),
		"--skipfile", skipFile,
		"--timeout", strconv.Itoa(int(stall.Seconds())),
		"--config", "shards", strconv.Itoa(w.shards),
	}
	if only != "" {
		args = append(args, "--only", only)
	}
	for _, tag := range u.deny {
		args = append(args, "--tags", "-"+tag)
	}
	cmd := exec.CommandContext(ctx, "tclsh", args...)
	cmd.Dir = w.path
	cmd.Env = append(os.Environ(), "TERM=dumb")
	if s.binDir != "" {
		cmd.Env = append(cmd.Env, s.binDir+"="+filepath.Join(w.path, "src"))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// The harness, its clients and the servers are one process group, so that
	// none of them outlives this call.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killGroup := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = killGroup
	cmd.WaitDelay = 5 * time.Second
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	cmd.Wait() // its exit status says less than its output
	killGroup()
	o := parseOutput(out.String())
	o.elapsed = time.Since(begin)
	if ctx.Err() != nil {
		o.faults = append(o.faults, fmt.Sprintf("not at its end after %v", limit))
	}
	return o, nil
}

// stall is how long the harness waits for a test that does not end. It gives
// the unit up then and says which test it was.
const stall = 2 * time.Minute

var (
	// A line that begins something; any other belongs to what came before.
	eventLine = regexp.MustCompile(`^\[([A-Za-z0-9/]+)(?: done)?\]: (.*)$`)
	elapsed   = regexp.MustCompile(` \(\d+ ms\)$`)
	inFile    = regexp.MustCompile(` in tests/\S+?\.tcl(: .*)?$`)
)

// The line after which the harness only repeats itself.
const theEnd = "The End"

// parseOutput reads what the harness printed about one unit.
func parseOutput(text string) *outcome {
	o := &outcome{passed: map[string]int{}, skipped: map[string]int{}, failed: map[string][]string{}}
	var kind string
	var lines []string // of the event
	finish := func() {
		if len(lines) == 0 {
			return
		}
		switch first := lines[0]; kind {
		case "ok":
			o.passed[elapsed.ReplaceAllString(first, "")]++
		case "skip":
			// A test that skips itself says where it is and why.
			o.skipped[inFile.ReplaceAllString(first, "")]++
		case "err":
			if loc := inFile.FindStringIndex(first); loc != nil {
				name := first[:loc[0]]
				if o.failed[name] == nil {
					o.order = append(o.order, name)
				}
				o.failed[name] = append(o.failed[name], strings.Join(lines[1:], "\n"))
			} else {
				o.fault(lines)
			}
		case "ignore":
			o.ignored = append(o.ignored, first)
		case "exception", "TIMEOUT":
			o.fault(lines)
		}
		kind, lines = "", nil
	}
	ended := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.TrimSpace(line) == theEnd {
			ended = true
			break
		}
		if m := eventLine.FindStringSubmatch(line); m != nil {
			finish()
			kind, lines = m[1], []string{m[2]}
		} else if kind != "" {
			lines = append(lines, line)
		}
	}
	finish()
	if !ended {
		o.faults = append(o.faults, "the harness did not come to its end:\n"+lastLines(text, 15))
	}
	return o
}

// fault notes what went wrong outside of a test. Of a server that did not start
// the harness first prints the whole configuration, which is left out.
func (o *outcome) fault(lines []string) {
	text := strings.Join(lines, "\n")
	if _, after, ok := strings.Cut(text, "\nERROR:"); ok {
		text = lines[0] + ":\n" + after
	}
	o.faults = append(o.faults, text)
}

// lastLines returns the last n lines of text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
