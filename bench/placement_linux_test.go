package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseCPUs(t *testing.T) {
	cases := []struct {
		list string
		want []int
	}{
		{"0", []int{0}},
		{"0-2, 5", []int{0, 1, 2, 5}},
		{"1023", []int{1023}},
		{"", nil},
		{"1-", nil},
		{"3-1", nil},
		{"-1", nil},
		{"0-99999999", nil},
		{"a", nil},
	}
	for _, tc := range cases {
		got, err := parseCPUs(tc.list)
		if !slices.Equal(got, tc.want) || (err != nil) != (tc.want == nil) {
			t.Errorf("%q: %v, %v, want %v", tc.list, got, err, tc.want)
		}
	}
	if got := formatCPUs([]int{0, 1, 2, 5, 7, 8}); got != "0-2,5,7-8" {
		t.Errorf("format: %s", got)
	}
}

func TestChoosePlacement(t *testing.T) {
	if _, err := choosePlacement(true, "0-1", "1"); err == nil {
		t.Error("a CPU shared by server and generator is accepted")
	}
	if _, err := choosePlacement(true, "0", "x"); err == nil {
		t.Error("a malformed list is accepted")
	}
	p, err := choosePlacement(true, "0,2-3", "1")
	if err != nil || p.String() != "server on CPU 0,2-3, generator on CPU 1" {
		t.Errorf("%v, %v", p, err)
	}
	p, err = choosePlacement(false, "nonsense", "")
	if err != nil || p.pinned || !strings.Contains(p.String(), "NOT PINNED") {
		t.Errorf("unpinned: %v, %v", p, err)
	}
}

// restoreAffinity gives every thread of the test its CPUs back when it ends.
func restoreAffinity(t *testing.T) []int {
	t.Helper()
	cpus, err := allowedCPUs()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := (placement{pinned: true, generator: cpus}).pinSelf(); err != nil {
			t.Error(err)
		}
	})
	return cpus
}

func TestPlacement_ServerAndGeneratorApart(t *testing.T) {
	cpus := restoreAffinity(t)
	// On one CPU both lists are the same and the test shows less.
	p := placement{pinned: true, server: cpus[:1], generator: cpus[len(cpus)-1:]}
	if err := p.pinSelf(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command("cat", "/proc/self/status")
	cmd.Stdout = &out
	if err := p.start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := "Cpus_allowed_list:\t" + strconv.Itoa(p.server[0]) + "\n"; !strings.Contains(out.String(), want) {
		t.Errorf("the server is not on %q: %s", want, out.String())
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(tid, &set); err != nil {
			continue // the thread ended
		}
		if set != *cpuSet(p.generator) {
			t.Errorf("thread %d of the generator may run on %d CPUs, or on another", tid, set.Count())
		}
	}
}
