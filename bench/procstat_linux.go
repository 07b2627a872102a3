package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of times in /proc/PID/stat and /proc/stat. The kernel
// fixes it at USER_HZ, which is 100 on every architecture Go runs on.
const clockTick = 10 * time.Millisecond

var errMalformed = errors.New("malformed")

// processCPU returns the CPU time all threads of a process have used, those
// that ended included.
//
// It asks the process's CPU clock, which has nanosecond resolution and counts
// the slice a thread is running at this moment. The sum over
// /proc/PID/task/*/schedstat forgets ended threads and lags by up to a tick;
// the ticks of /proc/PID/stat are the fallback where the clock is not allowed.
func processCPU(pid int) (time.Duration, error) {
	// The clock id of a process: clock_getcpuclockid(3), CPUCLOCK_SCHED.
	clock := int32(^pid)<<3 | 2
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err == nil {
		return time.Duration(ts.Nano()), nil
	}
	user, system, err := processTimes(pid)
	return user + system, err
}

// processTimes returns the user and system time of a process in clock ticks'
// resolution.
func processTimes(pid int) (user, system time.Duration, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read process times: %w", err)
	}
	return parseStat(b)
}

// parseStat reads utime and stime, fields 14 and 15 of proc_pid_stat(5). The
// second field is the program's name in parentheses and may itself contain
// spaces and parentheses, so fields are counted from the last one.
func parseStat(b []byte) (user, system time.Duration, err error) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return 0, 0, fmt.Errorf("process stat: %w", errMalformed)
	}
	fields := strings.Fields(string(b[end+1:]))
	const utime, stime = 14 - 3, 15 - 3 // the first field here is the third
	if len(fields) <= stime {
		return 0, 0, fmt.Errorf("process stat: %w", errMalformed)
	}
	u, err1 := strconv.ParseInt(fields[utime], 10, 64)
	s, err2 := strconv.ParseInt(fields[stime], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, fmt.Errorf("process stat: %w", err)
	}
	return time.Duration(u) * clockTick, time.Duration(s) * clockTick, nil
}

// parseStatus returns the number in the named field of a /proc status file,
// without its unit.
func parseStatus(b []byte, field string) (int64, error) {
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(line, ":")
		if !ok || name != field {
			continue
		}
		words := strings.Fields(value)
		if len(words) == 0 {
			break
		}
		n, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("status field %s: %w", field, err)
		}
		return n, nil
	}
	return 0, fmt.Errorf("status field %s: %w", field, errMalformed)
}

// processRSS returns the resident memory of a process in bytes.
func processRSS(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read resident memory: %w", err)
	}
	kib, err := parseStatus(b, "VmRSS")
	return kib << 10, err
}

// contextSwitches returns the voluntary plus involuntary context switches of
// each thread of a process.
func contextSwitches(pid int) (map[string]int64, error) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read threads: %w", err)
	}
	out := make(map[string]int64, len(tasks))
	for _, t := range tasks {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/status")
		if err != nil {
			continue // the thread ended since the directory was read
		}
		v, err1 := parseStatus(b, "voluntary_ctxt_switches")
		n, err2 := parseStatus(b, "nonvoluntary_ctxt_switches")
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		out[t.Name()] = v + n
	}
	return out, nil
}

// switchesBetween returns how many context switches happened from before to
// after. What a thread that ended did after before is lost.
func switchesBetween(before, after map[string]int64) int64 {
	var n int64
	for id, count := range after {
		n += count - before[id]
	}
	return n
}

// parseMachineTimes reads from /proc/stat how long all CPUs together were busy
// and how long the hypervisor kept them from running.
func parseMachineTimes(b []byte) (busy, steal time.Duration, err error) {
	line, _, _ := strings.Cut(string(b), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("machine times: %w", errMalformed)
	}
	var v [8]time.Duration // user nice system idle iowait irq softirq steal
	for i := range v {
		n, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("machine times: %w", err)
		}
		v[i] = time.Duration(n) * clockTick
	}
	return v[0] + v[1] + v[2] + v[5] + v[6], v[7], nil
}

// parseNetstat returns one of the TcpExt counters of /proc/net/netstat, where
// a line of names precedes a line of values.
func parseNetstat(b []byte, counter string) (int64, error) {
	const prefix = "TcpExt:"
	var names []string
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != prefix {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == counter && i < len(fields) {
				n, err := strconv.ParseInt(fields[i], 10, 64)
				if err != nil {
					return 0, fmt.Errorf("network counter %s: %w", counter, err)
				}
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("network counter %s: %w", counter, errMalformed)
}

// A snapshot is what the machine, the server and the generator had used at one
// moment.
type snapshot struct {
	at           time.Time
	server       time.Duration
	user, system time.Duration // of the server, to clockTick
	generator    time.Duration
	busy, steal  time.Duration // of the machine, to clockTick
	switches     map[string]int64
	rssBytes     int64
	pressures    int64 // times the kernel ran short of memory for TCP
}

// takeSnapshot reads the counters of the server pid and of this process.
func takeSnapshot(pid int) (snapshot, error) {
	s := snapshot{at: time.Now()}
	var errs [7]error
	s.server, errs[0] = processCPU(pid)
	s.generator, errs[1] = processCPU(os.Getpid())
	s.user, s.system, errs[2] = processTimes(pid)
	s.switches, errs[3] = contextSwitches(pid)
	s.rssBytes, errs[4] = processRSS(pid)
	b, err := os.ReadFile("/proc/stat")
	if err == nil {
		s.busy, s.steal, err = parseMachineTimes(b)
	}
	errs[5] = err
	b, err = os.ReadFile("/proc/net/netstat")
	if err == nil {
		s.pressures, err = parseNetstat(b, "TCPMemoryPressures")
	}
	errs[6] = err
	return s, errors.Join(errs[:]...)
}
