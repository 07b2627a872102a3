package shard

import (
	"net/netip"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epollDriver watches sockets with one epoll instance per loop, level
// triggered. A session that has a net.Conn in place of a descriptor, as one
// with TLS has, is served by conns, whose events join those of the sockets.
//
// Reads, writes and polls are non-blocking, so they are made with
// RawSyscall: the scheduler need not be told. Only wait may block and goes
// through the scheduler, which then lends the loop's processor to others.
// Told and untold differ by about a fifth of the CPU of a small request.
//
// This file holds the package's only uses of unsafe. Each passes the address
// of a live Go slice or struct to a system call that returns before the
// function does and keeps no pointer; the conversion stands in the call's
// argument list, which is the form that package unsafe guarantees to keep the
// object alive and in place.
type epollDriver struct {
	epfd   int
	wakefd int        // eventfd, watched like a socket
	byFD   []*Session // added sessions, by descriptor
	conns  conns      // the sessions without one
	ready  [maxEvents]unix.EpollEvent
	iovecs [maxIovecs]unix.Iovec
}

const (
	// maxEvents is how many sockets one turn serves.
	maxEvents = 512

	// maxIovecs is how many pieces one writev sends.
	maxIovecs = 256
)

func newEpollDriver(g *Group) (driver, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wakefd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(epfd)
		return nil, err
	}
	d := &epollDriver{epfd: epfd, wakefd: wakefd, conns: conns{group: g}}
	err = unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, wakefd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(wakefd)})
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *epollDriver) ownThread() bool { return true }

func (d *epollDriver) poll(events []event) []event {
	d.conns.yield()
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(d.epfd),
		uintptr(unsafe.Pointer(&d.ready[0])), maxEvents, 0, 0, 0)
	if errno == 0 {
		events = d.translate(events, int(n))
	}
	return d.conns.poll(events)
}

func (d *epollDriver) wait(events []event, timeout time.Duration) []event {
	if d.conns.pending.Load() { // reported before the loop said that it sleeps
		return d.poll(events)
	}
	d.conns.yield()
	ms := -1
	if timeout >= 0 {
		ms = int((timeout + time.Millisecond - 1) / time.Millisecond)
	}
	n, err := unix.EpollWait(d.epfd, d.ready[:], ms)
	if err == nil { // else EINTR: the next turn waits again
		events = d.translate(events, n)
	}
	return d.conns.poll(events)
}

func (d *epollDriver) translate(events []event, n int) []event {
	for i := range n {
		e := &d.ready[i]
		fd := int(e.Fd)
		if fd == d.wakefd {
			var count [8]byte
			unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&count[0])), 8)
			continue
		}
		s := d.byFD[fd]
		if s == nil {
			continue
		}
		events = append(events, event{
			session:  s,
			readable: e.Events&unix.EPOLLIN != 0 && !s.deaf,
			writable: e.Events&unix.EPOLLOUT != 0,
			broken:   e.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0,
		})
	}
	return events
}

func (d *epollDriver) wake() {
	one := [8]byte{1}
	unix.RawSyscall(unix.SYS_WRITE, uintptr(d.wakefd), uintptr(unsafe.Pointer(&one[0])), 8)
}

func (d *epollDriver) add(s *Session) error {
	if s.nc != nil {
		return d.conns.add(s)
	}
	fd := int(s.fd)
	err := unix.EpollCtl(d.epfd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: s.fd})
	if err != nil {
		return err
	}
	s.watched = unix.EPOLLIN
	for fd >= len(d.byFD) {
		d.byFD = append(d.byFD, make([]*Session, fd+64-len(d.byFD))...)
	}
	d.byFD[fd] = s
	return nil
}

func (d *epollDriver) interest(s *Session) {
	if s.nc != nil {
		d.conns.interest(s)
		return
	}
	var events uint32
	if !s.deaf {
		events |= unix.EPOLLIN
	}
	if s.blocked {
		events |= unix.EPOLLOUT
	}
	if events == s.watched {
		return
	}
	s.watched = events
	// Cannot fail for a descriptor that was added and not removed.
	_ = unix.EpollCtl(d.epfd, unix.EPOLL_CTL_MOD, int(s.fd), &unix.EpollEvent{Events: events, Fd: s.fd})
}

// read receives with recvfrom, which is a little cheaper for a socket than read.
func (d *epollDriver) read(s *Session, buf []byte) (int, error) {
	if s.nc != nil {
		return d.conns.read(s, buf)
	}
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd),
			uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0, 0)
		switch {
		case errno == 0 && n > 0:
			return int(n), nil
		case errno == 0:
			return 0, errEOF
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return 0, nil
		default:
			return 0, errno
		}
	}
}

// write sends with MSG_NOSIGNAL: a client that is gone is an error here, not a
// signal to the process.
func (d *epollDriver) write(s *Session, b []byte) (int, error) {
	if s.nc != nil {
		return d.conns.write(s, b)
	}
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd),
			uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			return sent(int(n), len(b))
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, errAgain
		default:
			return 0, errno
		}
	}
}

func (d *epollDriver) writev(s *Session, bs [][]byte) (int, error) {
	switch {
	case s.nc != nil:
		return d.conns.writev(s, bs)
	case len(bs) == 1:
		return d.write(s, bs[0])
	}
	n, want := 0, 0
	for _, b := range bs[:min(len(bs), maxIovecs)] {
		d.iovecs[n].Base = &b[0]
		d.iovecs[n].SetLen(len(b))
		want += len(b)
		n++
	}
	defer clear(d.iovecs[:n])
	msg := unix.Msghdr{Iov: &d.iovecs[0]}
	msg.SetIovlen(n)
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(s.fd),
			uintptr(unsafe.Pointer(&msg)), unix.MSG_NOSIGNAL)
		switch errno {
		case 0:
			return sent(int(n), want)
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, errAgain
		default:
			return 0, errno
		}
	}
}

// sent takes a short write as the socket's word that it is full, which saves
// the call that would only say so.
func sent(n, want int) (int, error) {
	if n < want {
		return n, errAgain
	}
	return n, nil
}

// drained makes the driver stop asking for room once there is nothing left.
func (d *epollDriver) drained(s *Session) {
	if s.watched&unix.EPOLLOUT != 0 {
		d.interest(s)
	}
}

func (d *epollDriver) shutdownWrite(s *Session) {
	if s.nc != nil {
		d.conns.shutdownWrite(s)
		return
	}
	_ = unix.Shutdown(int(s.fd), unix.SHUT_WR)
}

func (d *epollDriver) delivered(s *Session) bool {
	if s.nc != nil {
		return d.conns.delivered(s)
	}
	queued, err := unix.IoctlGetInt(int(s.fd), unix.SIOCOUTQ)
	return err != nil || queued == 0
}

func (d *epollDriver) remove(s *Session) {
	if s.nc != nil {
		d.conns.remove(s)
		return
	}
	fd := int(s.fd)
	if fd < len(d.byFD) && d.byFD[fd] == s {
		d.byFD[fd] = nil
	}
	s.fd = -1
	// Closing takes the descriptor out of the epoll set: no copy of it exists.
	_ = unix.Close(fd)
}

func (d *epollDriver) addrs(s *Session) (remote, local string) {
	if s.nc != nil {
		return d.conns.addrs(s)
	}
	sa, err := unix.Getsockname(int(s.fd))
	if err != nil {
		return s.remote.String(), ""
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return s.remote.String(), netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)).String()
	case *unix.SockaddrInet6:
		return s.remote.String(), netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)).String()
	case *unix.SockaddrUnix:
		return sa.Name + ":0", sa.Name + ":0"
	}
	return s.remote.String(), ""
}

func (d *epollDriver) close() {
	unix.Close(d.wakefd)
	unix.Close(d.epfd)
}
