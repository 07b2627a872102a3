package broker

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// availableMemory returns how many bytes this process may use: the least of
// GOMEMLIMIT, of what its control group allows, and of what the machine has,
// as far as each is known. It reads files.
func availableMemory() int64 {
	limit := debug.SetMemoryLimit(-1)
	read := func(name string) string {
		text, _ := os.ReadFile(name) // missing: no limit of this kind
		return string(text)
	}
	return min(limit, cgroupLimit(read), machineMemory(read("/proc/meminfo")))
}

// cgroupLimit returns the least limit of the control group the process is in
// and of those above it. Within a container its own group is the root. read
// returns the text of a file, "" when there is none.
func cgroupLimit(read func(name string) string) int64 {
	const (
		v1 = "/sys/fs/cgroup/memory" // Documentation/admin-guide/cgroup-v1/memory.rst
		v2 = "/sys/fs/cgroup"        // Documentation/admin-guide/cgroup-v2.rst
	)
	limit := int64(math.MaxInt64)
	visit := func(root, group, file string) {
		for ; ; group = path.Dir(group) {
			text := strings.TrimSpace(read(path.Join(root, group, file)))
			if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 { // else "max"
				limit = min(limit, n)
			}
			if group == "/" {
				return
			}
		}
	}
	for line := range strings.Lines(read("/proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // id:controllers:path
		if len(parts) != 3 {
			continue
		}
		group := path.Join("/", parts[2])
		switch parts[1] {
		case "":
			visit(v2, group, "memory.max")
		case "memory":
			visit(v1, group, "memory.limit_in_bytes")
		}
	}
	return limit
}

// machineMemory returns the memory that /proc/meminfo names.
func machineMemory(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "MemTotal:" && words[2] == "kB" {
			if kb, err := strconv.ParseInt(words[1], 10, 64); err == nil && kb > 0 && kb < math.MaxInt64>>10 {
				return kb << 10
			}
		}
	}
	return math.MaxInt64
}
