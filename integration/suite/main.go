package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	broker  string        // path of the program to test, "" to build it
	source  string        // folder of the unpacked source package, "" to fetch it
	units   []string      // only these, nil for all of the list
	jobs    int           // units at the same time
	limit   time.Duration // longest time a unit may take
	recheck bool          // run the skipped tests, too, one by one
	install bool          // install missing programs
	verbose bool
}

// recheckLimit is the longest time that a skipped test may take when it is run
// alone. Many of them wait in vain for what the broker does not do.
const recheckLimit = 15 * time.Second

// errDiffers says that the run came to its end and does not agree with the
// list.
var errDiffers = errors.New("the run and the list differ")

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var opt options
	var units string
	flags := flag.NewFlagSet("suite", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opt.broker, "broker", "", "`path` of the broker to test; empty builds it")
	flags.StringVar(&opt.source, "source", "", "`folder` of the unpacked source package; empty fetches it from Debian")
	flags.StringVar(&units, "units", "", "run only these units, separated by commas")
	flags.IntVar(&opt.jobs, "jobs", 2, "how many units run at the same time")
	flags.DurationVar(&opt.limit, "limit", 5*time.Minute, "longest time a unit may take")
	flags.BoolVar(&opt.recheck, "recheck", true, "run each skipped test alone and report those that pass")
	flags.BoolVar(&opt.install, "install", false, "install missing programs with apt-get, as root or with sudo -n")
	flags.BoolVar(&opt.verbose, "v", false, "print a line for each skipped test that is run, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, known := suites()[flags.Arg(0)]
	if !known || flags.NArg() != 1 {
		return errors.New("usage: suite [flags] redis|valkey")
	}
	if opt.jobs < 1 {
		return errors.New("-jobs must be at least 1")
	}
	l, err := parseList(s.list)
	if err != nil {
		return fmt.Errorf("list of %s: %w", flags.Arg(0), err)
	}
	if units != "" {
		wanted := strings.Split(units, ",")
		l.units = slices.DeleteFunc(l.units, func(u *unit) bool { return !slices.Contains(wanted, u.name) })
		if len(l.units) != len(wanted) {
			return fmt.Errorf("not all of these units are in the list: %s", units)
		}
	}
	verdicts, err := s.run(ctx, l, opt, stdout)
	if err != nil {
		return err
	}
	if !report(stdout, s, l, verdicts) {
		return errDiffers
	}
	return nil
}

// run runs the units of the list. It returns when all are done; an error is
// one that kept the suite from running.
func (s suite) run(ctx context.Context, l *list, opt options, progress io.Writer) ([]*verdict, error) {
	if err := installTools(ctx, opt.install); err != nil {
		return nil, err
	}
	source := opt.source
	if source == "" {
		var err error
		if source, err = s.source(ctx); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "broker-suite-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	broker := opt.broker
	if broker == "" {
		broker = filepath.Join(dir, "broker")
		build := exec.CommandContext(ctx, "go", "build", "-o", broker, "broker/cmd/broker")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the broker: %w\n%s", err, out)
		}
	} else if broker, err = filepath.Abs(broker); err != nil {
		return nil, err
	}

	workdirs := make([]*workdir, opt.jobs)
	for n := range workdirs {
		if workdirs[n], err = s.newWorkdir(dir, source, broker, n); err != nil {
			return nil, err
		}
	}

	outcomes := make([]*outcome, len(l.units))
	rechecked := make([][]problem, len(l.units))
	var jobs []func(*workdir) error
	var mu sync.Mutex // guards outcomes, rechecked and progress
	for i, u := range l.units {
		jobs = append(jobs, func(w *workdir) error {
			o, err := s.runUnit(ctx, w, u, "", opt.limit)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[i] = o
			fmt.Fprintf(progress, "%5.1fs unit/%s\n", o.elapsed.Seconds(), u.name)
			return nil
		})
	}
	if opt.recheck {
		for i, u := range l.units {
			for _, name := range u.skipped {
				jobs = append(jobs, func(w *workdir) error {
					o, err := s.runUnit(ctx, w, u, name, recheckLimit)
					if err != nil {
						return err
					}
					mu.Lock()
					defer mu.Unlock()
					rechecked[i] = append(rechecked[i], judgeSkipped(name, o)...)
					if opt.verbose {
						fmt.Fprintf(progress, "%5.1fs unit/%s, skipped: %s\n", o.elapsed.Seconds(), u.name, name)
					}
					return nil
				})
			}
		}
	}
	if err := runJobs(ctx, workdirs, jobs); err != nil {
		return nil, err
	}
	verdicts := make([]*verdict, len(l.units))
	for i, u := range l.units {
		verdicts[i] = judge(u, outcomes[i])
		verdicts[i].problems = append(verdicts[i].problems, rechecked[i]...)
	}
	return verdicts, nil
}

// runJobs runs the jobs in their order, as many at a time as there are working
// copies, and returns when none runs any more. It stops early when ctx ends or
// a job fails.
func runJobs(ctx context.Context, workdirs []*workdir, jobs []func(*workdir) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan func(*workdir) error)
	var workers sync.WaitGroup
	for _, w := range workdirs {
		workers.Go(func() {
			for job := range queue {
				if err := job(w); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, job := range jobs {
		select {
		case queue <- job:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	workers.Wait()
	return context.Cause(ctx)
}
