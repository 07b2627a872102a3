package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A placement says on which CPUs servers and generator run. The zero value
// leaves both to the kernel.
type placement struct {
	pinned    bool
	server    []int
	generator []int
}

// allowedCPUs returns the CPUs this process may run on.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read the allowed CPUs: %w", err)
	}
	var cpus []int
	for cpu := range len(set) * strconv.IntSize {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// parseCPUs reads a list such as "0-3,6".
func parseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.Atoi(lo)
		last := first
		if err == nil && isRange {
			last, err = strconv.Atoi(hi)
		}
		// The upper bound is the number of CPUs a unix.CPUSet can name.
		if err != nil || first < 0 || last < first || last >= len(unix.CPUSet{})*strconv.IntSize {
			return nil, fmt.Errorf("CPU list %q: %w", list, errMalformed)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

func cpuSet(cpus []int) *unix.CPUSet {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return &set
}

// pinSelf moves every thread of this process to the generator's CPUs.
func (p placement) pinSelf() error {
	if !p.pinned {
		return nil
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("read own threads: %w", err)
	}
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return fmt.Errorf("read own threads: %w", err)
		}
		if err := unix.SchedSetaffinity(tid, cpuSet(p.generator)); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("pin the generator: %w", err)
		}
	}
	return nil
}

// start starts cmd on the server's CPUs. The process inherits them from the
// thread that forks it, so it never runs a thread elsewhere, and a server that
// asks how many CPUs it has is told the truth.
func (p placement) start(cmd *exec.Cmd) error {
	if !p.pinned {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, cpuSet(p.server)); err != nil {
		return fmt.Errorf("pin the server: %w", err)
	}
	err := cmd.Start()
	// Threads the runtime made meanwhile inherited the server's CPUs as well.
	return errors.Join(err, p.pinSelf())
}

// String says where the processes run, as the report prints it.
func (p placement) String() string {
	if !p.pinned {
		return "NOT PINNED: server and generator share all CPUs"
	}
	return fmt.Sprintf("server on CPU %s, generator on CPU %s", formatCPUs(p.server), formatCPUs(p.generator))
}

func formatCPUs(cpus []int) string {
	var words []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		word := strconv.Itoa(cpus[i])
		if j > i {
			word += "-" + strconv.Itoa(cpus[j])
		}
		words = append(words, word)
		i = j + 1
	}
	return strings.Join(words, ",")
}

// choosePlacement reads the lists of the command line; an empty one means the
// first allowed CPU for the server and the second for the generator.
func choosePlacement(pin bool, serverList, generatorList string) (placement, error) {
	if !pin {
		return placement{}, nil
	}
	allowed, err := allowedCPUs()
	if err != nil {
		return placement{}, err
	}
	p := placement{pinned: true}
	for _, side := range []struct {
		list  string
		index int
		cpus  *[]int
	}{{serverList, 0, &p.server}, {generatorList, 1, &p.generator}} {
		if side.list == "" {
			if len(allowed) < 2 {
				return placement{}, fmt.Errorf("%d CPU allowed, pinning needs two: name the CPUs or give -pin=false", len(allowed))
			}
			*side.cpus = allowed[side.index : side.index+1]
			continue
		}
		if *side.cpus, err = parseCPUs(side.list); err != nil {
			return placement{}, err
		}
	}
	for _, cpu := range p.server {
		for _, other := range p.generator {
			if cpu == other {
				return placement{}, fmt.Errorf("server and generator are both on CPU %d", cpu)
			}
		}
	}
	return p, nil
}
