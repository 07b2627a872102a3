package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 1234 567 11 12 20 0 4 0 100 200 300"
	for _, name := range []string{"redis-server", "a) b (c", "(x) 9 9", ""} {
		user, system, err := parseStat([]byte("42 (" + name + ")" + tail))
		if err != nil || user != 12340*time.Millisecond || system != 5670*time.Millisecond {
			t.Errorf("%s: %v, %v, %v", name, user, system, err)
		}
	}
	for _, bad := range []string{"", "42 x S 1", "42 (x) S 1 2 3 4 5 6 7 8 9 10 1234", "42 (x) S 1 2 3 4 5 6 7 8 9 10 a b 1"} {
		if _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestParseStatus(t *testing.T) {
	status := []byte("Name:\tbroker\nVmPeak:\t  900 kB\nVmRSS:\t    1234 kB\nvoluntary_ctxt_switches:\t56\nnonvoluntary_ctxt_switches:\t7\nEmpty:\n")
	for field, want := range map[string]int64{"VmRSS": 1234, "voluntary_ctxt_switches": 56, "nonvoluntary_ctxt_switches": 7} {
		if got, err := parseStatus(status, field); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", field, got, err, want)
		}
	}
	for _, field := range []string{"Vm", "Empty", "Name", "ctxt_switches"} {
		if _, err := parseStatus(status, field); err == nil {
			t.Errorf("%s is accepted", field)
		}
	}
}

func TestParseMachineTimes(t *testing.T) {
	busy, steal, err := parseMachineTimes([]byte("cpu  1 2 3 1000 2000 4 5 60 7 8\ncpu0 9 9 9 9 9 9 9 9 9 9\n"))
	if busy != (1+2+3+4+5)*clockTick || steal != 60*clockTick || err != nil {
		t.Errorf("busy %v, steal %v, %v", busy, steal, err)
	}
	for _, bad := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x"} {
		if _, _, err := parseMachineTimes([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestParseNetstat(t *testing.T) {
	const text = "IpExt: TCPMemoryPressures b\nIpExt: 99 9\nTcpExt: a TCPMemoryPressures TCPMemoryPressuresChrono\nTcpExt: 1 23 4\n"
	if got, err := parseNetstat([]byte(text), "TCPMemoryPressures"); got != 23 || err != nil {
		t.Errorf("%d, %v, want 23", got, err)
	}
	for _, bad := range []string{"", "TcpExt: TCPMemoryPressures\n", "TcpExt: a TCPMemoryPressures\nTcpExt: 1\n", "TcpExt: TCPMemoryPressures\nTcpExt: x\n"} {
		if _, err := parseNetstat([]byte(bad), "TCPMemoryPressures"); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestSwitchesBetween_ThreadsComeAndGo(t *testing.T) {
	before := map[string]int64{"1": 10, "2": 20}
	after := map[string]int64{"1": 15, "3": 7}
	if got := switchesBetween(before, after); got != 12 {
		t.Errorf("%d, want 5 of the thread that stayed and 7 of the new one", got)
	}
}

// rusageCPU is the CPU time of this process from an independent source.
func rusageCPU(t *testing.T) time.Duration {
	t.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestProcessCPU_AgreesWithRusage(t *testing.T) {
	const rounding = 2 * time.Microsecond // rusage is cut to whole µs, twice
	start := rusageCPU(t)
	for rusageCPU(t)-start < 20*time.Millisecond { // use some
	}
	low := rusageCPU(t)
	got, err := processCPU(os.Getpid())
	high := rusageCPU(t)
	if err != nil || got < low-rounding || got > high+rounding {
		t.Errorf("%v, %v, want between %v and %v", got, err, low, high)
	}
}

func TestProcessCPU_EndedProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0], "--version")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := takeSnapshot(cmd.Process.Pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want one that says it is gone", err)
	}
}

func TestTakeSnapshot_Self(t *testing.T) {
	s, err := takeSnapshot(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if s.server <= 0 || s.generator < s.server || s.busy <= 0 || s.rssBytes < 1<<20 || len(s.switches) < 2 {
		t.Errorf("implausible: %+v", s)
	}
}
