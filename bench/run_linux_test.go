package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// quick is the timing of runs against the server in this process.
var quick = timing{warm: 10 * time.Millisecond, dur: 100 * time.Millisecond, stall: 10 * time.Second, growthBytes: 1 << 40}

// ownTarget is a server in this process.
func ownTarget(port int) target { return target{port: port, pid: os.Getpid(), proto: resp{}} }

// Every drive, against a server that does what it should.
func TestMeasureRun_Drives(t *testing.T) {
	cases := []workload{
		{Name: "publish to nobody", Drive: drivePublish, By: cpuPerOp, Publishers: 50, Pipeline: 30, Channels: 1_000_000, PayloadBytes: 32},
		{Name: "publish", Drive: drivePublish, By: cpuPerOp, Publishers: 5, Pipeline: 3, Channels: 2, Subscribers: 4, PayloadBytes: 32},
		{Name: "publish large", Drive: drivePublish, By: cpuPerDelivery, Publishers: 3, Pipeline: 1, Channels: 1, Subscribers: 2, PayloadBytes: 20 << 20},
		{Name: "patterns", Drive: drivePublish, By: cpuPerOp, Publishers: 2, Pipeline: 5, Channels: 100, PayloadBytes: 32, Patterns: 25, PatternForm: "pat%07d.*", Matching: 10},
		{Name: "lockstep", Drive: driveLockstep, By: latencyP50, Publishers: 1, Pipeline: 1, Channels: 1, Subscribers: 3, PayloadBytes: 32, Poll: true},
		{Name: "churn own", Drive: driveChurn, By: cpuPerOp, Churners: 4, Pipeline: 3, Existing: 1000},
		{Name: "churn hot", Drive: driveChurn, By: cpuPerOp, Churners: 4, Pipeline: 3, Channels: 1, Subscribers: 10},
		{Name: "idle", Drive: driveIdle, By: memoryPerConn, Conns: 100},
		{Name: "stall", Drive: driveStall, By: memoryGrowth, Publishers: 1, Pipeline: 1, Channels: 1, Subscribers: 3, PayloadBytes: 32, Messages: 130},
	}
	for _, w := range cases {
		t.Run(w.Name, func(t *testing.T) {
			server, port := startFakeServer(t, "")
			s, err := measureRun(t.Context(), w, ownTarget(port), quick)
			if err != nil {
				t.Fatal(err)
			}
			if seen := server.published.Load(); w.Publishers > 0 && s.Ops > seen {
				t.Errorf("%d operations counted, the server saw %d", s.Ops, seen)
			}
			if s.Ops <= 0 || s.Seconds <= 0 || s.ServerCPUSeconds <= 0 || s.RSSBytes <= 0 {
				t.Errorf("implausible: %+v", s)
			}
			switch w.Drive {
			case drivePublish, driveLockstep:
				if receivers := w.Subscribers + w.Matching; receivers > 0 && s.Deliveries <= 0 {
					t.Errorf("no deliveries: %+v", s)
				}
				if s.Value <= 0 {
					t.Errorf("no value: %+v", s)
				}
			case driveChurn:
				if s.Value <= 0 {
					t.Errorf("no value: %+v", s)
				}
			case driveIdle:
				if s.Ops != int64(w.Conns) {
					t.Errorf("%d connections of %d", s.Ops, w.Conns)
				}
			case driveStall:
				if s.Ops != int64(w.Messages) {
					t.Errorf("%d messages of %d", s.Ops, w.Messages)
				}
			}
		})
	}
}

// A server that answers but does not deliver is asked for one window of
// messages and no more, however long the run is to be.
func TestMeasureRun_WindowHoldsPublishersBack(t *testing.T) {
	w := workload{Drive: drivePublish, By: cpuPerOp, Publishers: 2, Pipeline: 1, Channels: 1, Subscribers: 2, PayloadBytes: 4 << 20}
	tm := timing{dur: time.Hour, stall: 200 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, port := startFakeServer(t, "withhold")
	_, err := measureRun(ctx, w, ownTarget(port), tm)
	if !errors.Is(err, errSilent) {
		t.Errorf("error %v, want that the server is silent", err)
	}
}

// Publishers that were held back go on when the subscribers have caught up.
func TestMeasureRun_WindowOpensAgain(t *testing.T) {
	w := workload{Drive: drivePublish, By: cpuPerDelivery, Publishers: 2, Pipeline: 1, Channels: 1, Subscribers: 2, PayloadBytes: 4 << 20}
	tm := timing{dur: 200 * time.Millisecond, stall: 3 * time.Second}
	_, port := startFakeServer(t, "late")
	s, err := measureRun(t.Context(), w, ownTarget(port), tm)
	if err != nil || s.Deliveries == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// One by one means that a message is waited for even after its reply.
func TestMeasureRun_LockstepWaitsForEverySubscriber(t *testing.T) {
	w := workload{Drive: driveLockstep, By: latencyP50, Publishers: 1, Pipeline: 1, Channels: 1, Subscribers: 2, PayloadBytes: 32}
	tm := timing{dur: time.Hour, stall: 200 * time.Millisecond}
	_, port := startFakeServer(t, "withhold")
	_, err := measureRun(t.Context(), w, ownTarget(port), tm)
	if !errors.Is(err, errSilent) {
		t.Errorf("error %v, want that the server is silent", err)
	}
}

func TestMeasureRun_StallEndsAtTheLimit(t *testing.T) {
	w := workload{Drive: driveStall, By: memoryGrowth, Publishers: 1, Pipeline: 1, Channels: 1, Subscribers: 1, PayloadBytes: 32, Messages: 1 << 20}
	tm := quick
	tm.growthBytes = -1 << 40 // reached whatever the server does
	_, port := startFakeServer(t, "")
	s, err := measureRun(t.Context(), w, ownTarget(port), tm)
	if err != nil || !s.Floor || s.Ops != memoryCheckEvery {
		t.Errorf("%+v, %v, want a floor at the first look", s, err)
	}
}

// runAgainstSelf runs the program with the test binary as its broker.
func runAgainstSelf(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-broker", os.Args[0], "-peers", "none", "-warm", "10ms", "-dur", "100ms", "-pin=false"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestRun_ReportsWhatItMeasured(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	code, stdout, stderr := runAgainstSelf(t, t.Context(),
		"-workloads", "W1p30,W3p30", "-runs", "2", "-broker-args", "", "-variant", "--flaw none", "-json", file)
	if code != exitOK {
		t.Fatalf("exit %d: %s\n%s", code, stderr, stdout)
	}
	for _, want := range []string{"NOT PINNED", "fake server 1", "redis: not asked for", "W1p30  PUBLISH", "--client-output-buffer-limit 'pubsub 0 0 0'"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing from\n%s", want, stdout)
		}
	}
	if want := "[8/8] W3p30 broker --flaw none run 2 of 2: "; !strings.Contains(stderr, want) {
		t.Errorf("%q is missing from\n%s", want, stderr)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rep report
	if err := json.Unmarshal(b, &rep); err != nil {
		t.Fatal(err)
	}
	if len(rep.Results) != 2 || len(rep.Contenders) != 2 || rep.Machine.Kernel == "" || rep.Machine.CPUs == 0 {
		t.Fatalf("incomplete: %s", b)
	}
	for _, r := range rep.Results {
		for i, s := range r.Series {
			if len(s.Samples) != 2 || s.Value.Min <= 0 || s.Value.Median < s.Value.Min || s.Value.Max < s.Value.Median || s.Ops.Median <= 0 {
				t.Errorf("%s %s: %+v", r.Workload.Name, s.Contender, s)
			}
			if (s.Ratio.Median > 0) != (i > 0) {
				t.Errorf("%s %s: ratio %v", r.Workload.Name, s.Contender, s.Ratio)
			}
		}
	}
	// Deliveries lag operations by no more than the window.
	for _, s := range rep.Results[1].Series[0].Samples {
		if lag := s.Ops*8 - s.Deliveries; lag > windowDeliveries || lag < -windowDeliveries {
			t.Errorf("%d operations and %d deliveries to 8 subscribers", s.Ops, s.Deliveries)
		}
	}
}

func TestRun_RefusesFlawedServers(t *testing.T) {
	cases := []struct{ flaw, workload, want string }{
		{"miscount", "W1p1", errTotals.Error()},
		{"refuse_publish", "W1p1", errTotals.Error()},
		{"lose", "W3p1", errSilent.Error()}, // the missing messages are waited for
		{"silent", "W1p1", errSilent.Error()},
		{"refuse", "W3p1", `the server refused: "-ERR not today"`},
		{"leave", "W1p1", "exit status 9"},
		{"start", "W1p1", "cannot start today"},
	}
	for _, tc := range cases {
		t.Run(tc.flaw, func(t *testing.T) {
			code, stdout, _ := runAgainstSelf(t, t.Context(), "-workloads", tc.workload, "-runs", "2", "-stall", "300ms", "-broker-args", "--flaw="+tc.flaw)
			if code != exitFailed || !strings.Contains(stdout, "broker FAILED after 0 runs") || !strings.Contains(stdout, tc.want) {
				t.Errorf("exit %d, want %q in\n%s", code, tc.want, stdout)
			}
		})
	}
}

// An interrupt in the middle of a run ends the server that was started.
func TestRun_InterruptStopsTheServer(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type outcome struct {
		code   int
		stderr string
	}
	ended := make(chan outcome, 1)
	go func() {
		code, _, stderr := runAgainstSelf(t, ctx, "-workloads", "W1p1", "-runs", "1", "-dur", "1h", "-broker-args", "--pidfile "+pidFile)
		ended <- outcome{code, stderr}
	}()
	pid := 0
	for pid == 0 {
		select {
		case o := <-ended:
			t.Fatalf("it ended before it was interrupted: %+v", o)
		case <-time.After(time.Millisecond):
		}
		if b, err := os.ReadFile(pidFile); err == nil {
			pid, _ = strconv.Atoi(string(b))
		}
	}
	cancel()
	if o := <-ended; o.code != exitInterrupt {
		t.Errorf("%+v, want exit %d", o, exitInterrupt)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the server %d is still there: %v", pid, err)
	}
}

func TestRun_Usage(t *testing.T) {
	for _, args := range [][]string{
		{"-runs", "0"}, {"-dur", "0s"}, {"-warm", "-1s"}, {"stray"}, {"-nonsense"}, {"-workloads", "W99"},
	} {
		var errs bytes.Buffer
		if code := run(t.Context(), args, io.Discard, &errs); code != exitUsage || errs.Len() == 0 {
			t.Errorf("%v: exit %d, said %q", args, code, errs.String())
		}
	}
	var help bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, io.Discard, &help); code != exitOK || !strings.Contains(help.String(), "W1p30") || !strings.Contains(help.String(), "nats-server") {
		t.Errorf("help: exit %d, %s", code, help.String())
	}
	for _, args := range [][]string{
		{"-broker", os.Args[0], "-peers", "nobody", "-pin=false"},
		{"-broker", "/does/not/exist", "-pin=false"},
		{"-broker", os.Args[0], "-server-cpus", "0", "-generator-cpu", "0"},
	} {
		var errs bytes.Buffer
		if code := run(t.Context(), args, io.Discard, &errs); code != exitFailed || errs.Len() == 0 {
			t.Errorf("%v: exit %d, said %q", args, code, errs.String())
		}
	}
}

func TestNewContender_PeerInPlaceOfTheBroker(t *testing.T) {
	peer := newContender("broker", "/usr/bin/nats-server", []string{"--shards", "1"})
	if peer.proto != (nats{}) || strings.Contains(strings.Join(peer.Args, " "), "--shards") {
		t.Errorf("%+v is not started as the peer it is", peer)
	}
	own := newContender("broker", "/tmp/broker", []string{"--shards", "2"})
	if own.proto != (resp{}) || strings.Join(own.Args, " ") != "--port 0 --client-output-buffer-limit pubsub 0 0 0 --shards 2" {
		t.Errorf("%+v", own)
	}
}
