package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// run runs the units of the list. It returns when all are done; an error is
// one that kept the suite from running.
func (s suite) run(ctx context.Context, l *list, opt options, progress io.Writer) ([]*verdict, error) {
	dir, err := os.MkdirTemp("", "broker-suite-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	workdirs, err := s.prepare(ctx, dir, opt)
	if err != nil {
		return nil, err
	}

	outcomes := make([]*outcome, len(l.units))
	rechecked := make([][]problem, len(l.units))
	var mu sync.Mutex // guards the elements of both, and progress
	var jobs []func(*workdir) error
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
	for i, u := range l.units {
		if !opt.recheck {
			break
		}
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

// prepare makes the working copies below dir, and before that gets whatever the
// machine does not have: programs, the suite, the broker.
func (s suite) prepare(ctx context.Context, dir string, opt options) ([]*workdir, error) {
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
	broker, err := filepath.Abs(opt.broker)
	if err != nil {
		return nil, err
	}
	if opt.broker == "" {
		broker = filepath.Join(dir, "broker")
		build := exec.CommandContext(ctx, "go", "build", "-o", broker, "broker/cmd/broker")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the broker: %w\n%s", err, out)
		}
	}
	workdirs := make([]*workdir, opt.jobs)
	for n := range workdirs {
		if workdirs[n], err = s.newWorkdir(dir, source, broker, n); err != nil {
			return nil, err
		}
		workdirs[n].shards = opt.shards
	}
	return workdirs, nil
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
