package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// Exit codes.
const (
	exitOK        = 0
	exitFailed    = 1 // a server could not be measured, or no report be written
	exitUsage     = 2
	exitInterrupt = 130
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	os.Exit(code)
}

// options is the parsed command line.
type options struct {
	workloads    string
	runs         int
	dur          time.Duration
	warm         time.Duration
	stall        time.Duration
	growthMiB    int64
	broker       string
	brokerArgs   string
	variants     []string
	baseline     string
	peers        string
	pin          bool
	serverCPUs   string
	generatorCPU string
	json         string
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.workloads, "workloads", defaultSelection, "comma-separated `names` or globs, or all")
	f.IntVar(&o.runs, "runs", 5, "runs of each contender in each workload")
	f.DurationVar(&o.dur, "dur", time.Second, "measured time of a run")
	f.DurationVar(&o.warm, "warm", 300*time.Millisecond, "load before the measured time")
	f.DurationVar(&o.stall, "stall", 20*time.Second, "give a run up when the server owes something and is silent for so long")
	f.Int64Var(&o.growthMiB, "growth-limit", 2048, "end a W10 run when the server has grown by so many `MiB`")
	f.StringVar(&o.broker, "broker", "", "`path` of the broker (default: build ./cmd/broker); a known peer's executable is started as that peer")
	f.StringVar(&o.brokerArgs, "broker-args", "--shards 1", "the broker's `arguments` beside port and output buffer limit, split at spaces")
	f.Func("variant", "also compare the broker with other `arguments` in place of -broker-args; may be repeated", func(s string) error {
		o.variants = append(o.variants, s)
		return nil
	})
	f.StringVar(&o.baseline, "baseline", "", "also compare another build of the broker, at this `path`, with the same arguments")
	f.StringVar(&o.peers, "peers", "auto", "comma-separated `names`, auto for all in PATH, or none")
	f.BoolVar(&o.pin, "pin", true, "pin server and generator to CPUs of their own")
	f.StringVar(&o.serverCPUs, "server-cpus", "", "CPU `list` of the servers, such as 0-3 (default: the first allowed)")
	f.StringVar(&o.generatorCPU, "generator-cpu", "", "CPU `list` of the generator, which needs one (default: the second allowed)")
	f.StringVar(&o.json, "json", "", "write the report with every run to this `file`")
	f.Usage = func() {
		fmt.Fprint(stderr, "usage: go run ./bench [flags]\n\nCompares the broker with its peers on this machine.\n\n")
		f.PrintDefaults()
		fmt.Fprintln(stderr, "\nworkloads:")
		t := tabwriter.NewWriter(stderr, 0, 0, 2, ' ', 0)
		for _, w := range workloads() {
			fmt.Fprintf(t, "  %s\t%s\tby %s\n", w.Name, w.Title, w.By)
		}
		_ = t.Flush()
		fmt.Fprintln(stderr, "\npeers:")
		for _, p := range programs() {
			fmt.Fprintf(stderr, "  %s (%s)\n", p.name, p.executable)
		}
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.runs < 1:
		err = errors.New("-runs must be at least 1")
	case o.dur <= 0 || o.warm < 0 || o.stall <= 0 || o.growthMiB <= 0:
		err = errors.New("-dur, -stall and -growth-limit must be positive, -warm not negative")
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
	}
	return o, err
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage
	}
	rows, err := selectWorkloads(workloads(), o.workloads)
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return exitUsage
	}
	code, err := compare(ctx, o, rows, args, stdout, stderr)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "bench: interrupted")
		return exitInterrupt
	case err != nil:
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return exitFailed
	}
	return code
}

// compare runs the workloads and reports them. It returns exitFailed when the
// report is complete but a contender could not be measured throughout.
func compare(ctx context.Context, o options, rows []workload, args []string, stdout, stderr io.Writer) (int, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	place, err := choosePlacement(o.pin, o.serverCPUs, o.generatorCPU)
	if err != nil {
		return 0, err
	}
	contenders, skipped, err := gather(ctx, o, dir)
	if err != nil {
		return 0, err
	}
	rep := report{
		Command:    "go run ./bench " + quoteArgs(args),
		Started:    time.Now().Format(time.RFC3339),
		Placement:  place.String(),
		Runs:       o.runs,
		Seconds:    o.dur.Seconds(),
		Contenders: contenders,
		Skipped:    skipped,
	}
	if rep.Machine, err = describeMachine(); err != nil {
		return 0, err
	}
	rep.printHead(stdout)

	if err := place.pinSelf(); err != nil {
		return 0, err
	}
	tm := timing{warm: o.warm, dur: o.dur, stall: o.stall, growthBytes: o.growthMiB << 20}
	show := &progress{w: stderr, total: len(rows) * o.runs * len(contenders), terminal: isTerminal(stderr)}
	code := exitOK
	for _, w := range rows {
		r := result{Workload: w, Series: make([]series, len(contenders))}
		for i, c := range contenders {
			r.Series[i].Contender = c.Name
			if w.RESPOnly && c.proto != (resp{}) {
				r.Series[i].Excluded = "it speaks another protocol, in which this is other work"
			} else if w.Pipeline > 1 && c.proto != (resp{}) {
				r.Series[i].Caveat = "it answers once per batch where RESP answers each command"
			}
		}
		for n := range o.runs {
			for i, c := range contenders {
				s := &r.Series[i]
				if s.Failure != "" || s.Excluded != "" {
					show.step("%s %s left out", w.Name, c.Name)
					continue
				}
				show.begin("%s %s run %d of %d", w.Name, c.Name, n+1, o.runs)
				one, err := runOnce(ctx, w, c, dir, place, tm)
				if ctx.Err() != nil {
					show.clear()
					return 0, ctx.Err()
				}
				if err != nil {
					s.Failure, code = err.Error(), exitFailed
					show.step("%s %s failed: %v", w.Name, c.Name, err)
					continue
				}
				s.Samples = append(s.Samples, one)
				show.step("%s %s run %d of %d: %s %s, %.0f ops/s", w.Name, c.Name, n+1, o.runs, figures(one.Value), w.By, one.opsPerSecond())
			}
		}
		show.clear()
		r.summarize()
		rep.Results = append(rep.Results, r)
		if err := r.print(stdout, contenders[0].Name); err != nil {
			return 0, err
		}
	}
	if o.json == "" {
		return code, nil
	}
	b, err := json.MarshalIndent(rep, "", "\t")
	if err != nil {
		return 0, err
	}
	return code, os.WriteFile(o.json, append(b, '\n'), 0o644)
}

// crashGrace is how long after a failure the server may take to turn out dead.
const crashGrace = 200 * time.Millisecond

// runOnce measures one run on a fresh server.
func runOnce(ctx context.Context, w workload, c contender, dir string, place placement, tm timing) (sample, error) {
	srv, err := startServer(ctx, c, dir, place)
	if err != nil {
		return sample{}, err
	}
	defer srv.stop()
	s, err := measureRun(ctx, w, srv.target, tm)
	if err != nil {
		// A server that crashed is seen through its connections first.
		grace := time.NewTimer(crashGrace)
		defer grace.Stop()
		select {
		case <-srv.exited:
			err = fmt.Errorf("%w; the server ended: %v", err, srv.waitErr)
		case <-grace.C:
		case <-ctx.Done():
		}
		if tail := srv.logTail(); tail != "" {
			err = fmt.Errorf("%w; it printed: %s", err, tail)
		}
	}
	return s, err
}

// gather returns the broker, its variants and the peers, with their versions.
func gather(ctx context.Context, o options, dir string) ([]contender, []string, error) {
	path := o.broker
	var err error
	if path == "" {
		path, err = buildBroker(ctx, dir)
	} else {
		path, err = findExecutable(path)
	}
	if err != nil {
		return nil, nil, err
	}
	out := []contender{newContender("broker", path, strings.Fields(o.brokerArgs))}
	for _, args := range o.variants {
		out = append(out, newContender("broker "+args, path, strings.Fields(args)))
	}
	if o.baseline != "" {
		path, err := findExecutable(o.baseline)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, newContender("baseline", path, strings.Fields(o.brokerArgs)))
	}
	peers, skipped, err := findPeers(o.peers)
	if err != nil {
		return nil, nil, err
	}
	out = append(out, peers...)
	for i := range out {
		out[i].Version = programVersion(ctx, out[i].Path)
	}
	return out, skipped, nil
}

// findExecutable returns the absolute path of a program named as a shell would
// find it: servers run in a folder of their own.
func findExecutable(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// programVersion returns the first line a program prints when asked for its
// version, or why there is none.
func programVersion(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	b, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if err != nil || line == "" {
		return fmt.Sprintf("version unknown (%v)", errors.Join(err, errors.New(line)))
	}
	return line + programCommit(path)
}

// programCommit returns the commit a Go program was built from, as a suffix of
// its version; of other programs it is empty.
func programCommit(path string) string {
	built, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	commit, modified := "", ""
	for _, s := range built.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	if commit == "" {
		return ""
	}
	return " (" + commit + modified + ", " + built.GoVersion + ")"
}

func describeMachine() (machine, error) {
	m := machine{GoVersion: runtime.Version(), Arch: runtime.GOARCH, CPU: "unknown CPU"}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return m, fmt.Errorf("read the kernel's version: %w", err)
	}
	m.Kernel = unix.ByteSliceToString(uts.Release[:])
	cpus, err := allowedCPUs()
	if err != nil {
		return m, err
	}
	m.CPUs = len(cpus)
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m, fmt.Errorf("read the CPU's model: %w", err)
	}
	for line := range bytes.Lines(b) {
		name, model, ok := bytes.Cut(line, []byte(":"))
		if ok && string(bytes.TrimSpace(name)) == "model name" {
			m.CPU = string(bytes.TrimSpace(model))
			break
		}
	}
	return m, nil
}

// A progress writes one line about the run in hand, in place on a terminal.
type progress struct {
	w        io.Writer
	total    int
	done     int
	terminal bool
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// begin says what is being measured, on a terminal only.
func (p *progress) begin(format string, args ...any) {
	if p.terminal {
		p.clear()
		fmt.Fprintf(p.w, "[%d/%d] %s", p.done+1, p.total, fmt.Sprintf(format, args...))
	}
}

// step says how a run went.
func (p *progress) step(format string, args ...any) {
	p.done++
	p.clear()
	fmt.Fprintf(p.w, "[%d/%d] %s", p.done, p.total, fmt.Sprintf(format, args...))
	if !p.terminal {
		fmt.Fprintln(p.w)
	}
}

// clear removes the line from a terminal.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
