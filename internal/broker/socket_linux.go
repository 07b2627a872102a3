package broker

import (
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"broker/shard"
)

// acceptRaw accepts a descriptor without the runtime's poller knowing it: the
// shard that adopts it watches it with its own epoll.
func (b *Broker) acceptRaw(l *listener) error {
	var fd int
	var sa unix.Sockaddr
	var failed error
	err := l.raw.Read(func(listening uintptr) bool {
		fd, sa, failed = unix.Accept4(int(listening), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		return failed != unix.EAGAIN
	})
	if err != nil {
		return net.ErrClosed
	}
	switch failed {
	case nil:
	case unix.EINTR, unix.ECONNABORTED:
		return nil
	default:
		return failed
	}
	conn := shard.Conn{FD: fd, Unix: l.unix}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		conn.Remote = netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		conn.Remote = unmapped(netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)))
	}
	if why := b.refusal(conn); why != "" {
		_ = unix.Sendto(fd, []byte(why), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil)
		_ = unix.Close(fd)
		return nil
	}
	b.group.Adopt(conn)
	return nil
}

// setTCPOptions sets what connections inherit on Linux that are accepted from
// now on, so that none of it costs a system call per connection.
func setTCPOptions(c syscall.RawConn, keepAlive time.Duration) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		set := func(level, option, value int) {
			if failed == nil {
				failed = unix.SetsockoptInt(int(fd), level, option, value)
			}
		}
		set(unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if keepAlive > 0 {
			seconds := int(keepAlive / time.Second)
			set(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
			set(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds)
			set(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, max(seconds/3, 1))
			set(unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3)
		} else {
			set(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0)
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// setBacklog changes the length of a listening socket's queue; the net
// package always asks for the system's maximum.
func setBacklog(c syscall.RawConn, backlog int) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.Listen(int(fd), backlog) })
	if err != nil {
		return err
	}
	return failed
}

// listenUnix opens a Unix domain socket. The umask makes it come into being
// with its permissions: a chmod afterwards would leave a moment in which
// anyone may connect. It is the process's, so sockets are opened at start
// only, before anything else creates files.
func listenUnix(path string, perm uint32) (net.Listener, error) {
	if perm != 0 {
		old := unix.Umask(0o777 &^ int(perm))
		defer unix.Umask(old)
	}
	return net.Listen("unix", path)
}
