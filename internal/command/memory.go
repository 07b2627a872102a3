package command

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
)

// memoryUse is what the process holds, in bytes.
type memoryUse struct {
	used     int64 // in use by the Go runtime, for objects and for itself
	mapped   int64 // mapped from the operating system and not given back
	resident int64 // in main memory, as far as the system tells; else mapped
}

// readMemory asks the Go runtime; it does not stop the world.
func readMemory() memoryUse {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	mapped := value(0) - value(1)
	m := memoryUse{used: mapped - value(2) - value(3), mapped: mapped, resident: mapped}
	if rss, ok := residentBytes(); ok {
		m.resident = rss
	}
	return m
}

// residentBytes reads the resident set size where Linux tells it.
func residentBytes() (int64, bool) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}

// systemBytes reads the memory of the machine where Linux tells it.
func systemBytes() (int64, bool) {
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for l := range bytes.Lines(meminfo) {
		fields := bytes.Fields(l)
		if len(fields) >= 2 && string(fields[0]) == "MemTotal:" {
			kb, err := strconv.ParseInt(string(fields[1]), 10, 64)
			return kb << 10, err == nil
		}
	}
	return 0, false
}

func (r *report) memory() {
	m := readMemory()
	peak := r.d.notePeak(m.used)
	r.bytes("used_memory", m.used)
	r.bytes("used_memory_rss", m.resident)
	r.bytes("used_memory_peak", peak)
	r.line("used_memory_peak_perc", strconv.FormatFloat(100*float64(m.used)/float64(peak), 'f', 2, 64)+"%")
	if total, ok := systemBytes(); ok {
		r.bytes("total_system_memory", total)
	}
	r.bytes("maxmemory", 0)
	r.line("maxmemory_policy", "noeviction")
	r.float("mem_fragmentation_ratio", float64(m.resident)/float64(m.used), 2)
	r.int("mem_fragmentation_bytes", m.resident-m.used)
	r.line("mem_allocator", runtime.Version())
}

// notePeak returns the highest use that any INFO has seen, used included.
func (d *Dispatcher) notePeak(used int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peakMemory = max(d.peakMemory, used)
	return d.peakMemory
}
