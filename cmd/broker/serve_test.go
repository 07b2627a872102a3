package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestShutdown_StatusAndTime(t *testing.T) {
	const timeout = 3 * time.Second
	cases := []struct {
		name   string
		end    func(ctx, hang context.Context) error
		signal time.Duration // when the second signal comes, 0 for never
		code   int
		took   time.Duration // on the test's own clock, which is exact
		log    string
	}{
		{
			name: "nothing to wait for",
			end:  func(_, _ context.Context) error { return nil },
			code: 0, took: 0, log: `level=INFO msg="Shut down"`,
		},
		{
			name: "undelivered messages",
			end: func(ctx, _ context.Context) error {
				<-ctx.Done()
				return fmt.Errorf("flush: %w", ctx.Err())
			},
			code: 0, took: timeout, log: `level=WARN msg="Shut down with undelivered messages"`,
		},
		{
			name: "failure",
			end:  func(_, _ context.Context) error { return errors.New("no") },
			code: 1, took: 0, log: `level=ERROR msg="Shutdown failed" error=no`,
		},
		{
			name: "hangs",
			end: func(_, hang context.Context) error {
				<-hang.Done()
				return nil
			},
			code: 1, took: timeout + shutdownGrace, log: `level=ERROR msg="Shutdown failed" error="shutdown did not end in time"`,
		},
		{
			name: "second signal",
			end: func(_, hang context.Context) error {
				<-hang.Done()
				return nil
			},
			signal: time.Second,
			code:   1, took: time.Second, log: `level=WARN msg="Stopped by a second signal" signal=interrupt`,
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang, release := context.WithCancel(context.Background())
				defer release()
				stop := make(chan os.Signal, 1)
				if tc.signal > 0 {
					time.AfterFunc(tc.signal, func() { stop <- os.Interrupt })
				}
				var log bytes.Buffer
				start := time.Now()
				code := shutdown(func(ctx context.Context) error { return tc.end(ctx, hang) },
					timeout, slog.New(slog.NewTextHandler(&log, nil)), stop)
				if took := time.Since(start); code != tc.code || took != tc.took {
					t.Errorf("status %d after %v, want %d after %v", code, took, tc.code, tc.took)
				}
				if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), tc.log) {
					t.Errorf("log %q, want one line with %s", log.String(), tc.log)
				}
			})
		})
	}
}

func TestFail_IsOneLine(t *testing.T) {
	var stderr bytes.Buffer
	code := fail(&stderr, errors.Join(errors.New("a"), errors.New("b")))
	if got, want := stderr.String(), "broker: a; b\n"; got != want || code != exitError {
		t.Errorf("fail = %d, %q, want %d, %q", code, got, exitError, want)
	}
}
