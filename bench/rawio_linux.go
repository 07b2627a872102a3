package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The three calls the loop makes per event. They bypass the scheduler's
// bookkeeping for system calls, which costs the generator more than the calls
// on small messages. None of them can block: the sockets are non-blocking and
// the epoll wait has a timeout of zero.
//
// Each pointer is converted in the call's argument list, which keeps the
// object alive and in place until the call returns (unsafe.Pointer, rule 4).

// readRaw reads from a non-blocking fd into p, which is not empty.
func readRaw(fd int, p []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

// writeRaw writes p to a non-blocking fd.
func writeRaw(fd int, p []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}

// pollRaw returns the events that are ready now.
func pollRaw(ep int, events []unix.EpollEvent) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}
