//go:build unix

package command

import "syscall"

// cpu writes the processor time of the process, in seconds.
func (r *report) cpu() {
	for _, u := range []struct {
		who    int
		suffix string
	}{{syscall.RUSAGE_SELF, ""}, {syscall.RUSAGE_CHILDREN, "_children"}} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(u.who, &usage); err != nil {
			continue
		}
		r.float("used_cpu_sys"+u.suffix, seconds(usage.Stime), 6)
		r.float("used_cpu_user"+u.suffix, seconds(usage.Utime), 6)
	}
}

func seconds(t syscall.Timeval) float64 {
	return float64(t.Sec) + float64(t.Usec)/1e6
}
