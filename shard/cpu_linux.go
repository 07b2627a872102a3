package shard

import "golang.org/x/sys/unix"

// threadCPU returns the processor time that the calling thread has used, in
// nanoseconds.
func threadCPU() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
