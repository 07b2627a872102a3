package tools

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"broker/internal/cli"
)

// patience is how long a test waits for an event before it gives up. No
// assertion depends on it.
const patience = 30 * time.Second

// An outcome is what a tool left behind.
type outcome struct {
	status         int
	stdout, stderr string
}

// A tool is a subcommand that runs.
type tool struct {
	cancel context.CancelFunc
	ended  chan struct{}
	stdout lines

	// Written before ended is closed.
	status int
	stderr bytes.Buffer
}

// lines is a writer that can be waited for.
type lines struct {
	mu   sync.Mutex
	more sync.Cond
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	l.more.Broadcast()
	return len(b), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait returns what was written once it contains text.
func (l *lines) wait(t *testing.T, text string) string {
	t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		l.mu.Lock()
		late = true
		l.more.Broadcast()
		l.mu.Unlock()
	})
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for !strings.Contains(l.text.String(), text) {
		if late {
			t.Fatalf("never wrote %q, only %q", text, l.text.String())
		}
		l.more.Wait()
	}
	return l.text.String()
}

// start runs a tool; it is interrupted when the test ends before it does.
func start(t *testing.T, stdin io.Reader, args ...string) *tool {
	t.Helper()
	choice := cli.Choose(append([]string{"broker"}, args...))
	if choice.Tool == nil {
		t.Fatalf("there is no tool %s", args[0])
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &tool{cancel: cancel, ended: make(chan struct{})}
	r.stdout.more.L = &r.stdout.mu
	go func() {
		defer close(r.ended)
		r.status = choice.Tool.Run(ctx, &cli.Process{
			Args: choice.Args, Stdin: stdin, Stdout: &r.stdout, Stderr: &r.stderr, Version: "1.2.3",
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-r.ended
	})
	return r
}

// end waits for the tool to end.
func (r *tool) end(t *testing.T) outcome {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		t.Fatalf("does not end; so far %q", r.stdout.String())
	}
	return outcome{r.status, r.stdout.String(), r.stderr.String()}
}

func run(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	return start(t, strings.NewReader(stdin), args...).end(t)
}
