package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"broker/internal/config"
)

// A listener is an open listening socket.
type listener struct {
	net.Listener
	unix bool
	tls  bool // connections begin with a handshake

	// For descriptors that the epoll driver serves, else nil: a second
	// descriptor of the same socket, on which descriptors are accepted. The net package does
	// not let a listener be waited for in any other way.
	file *os.File
	raw  syscall.RawConn // of file
}

// openListeners opens every socket that cfg names, or none: the TCP port, the
// TLS port, the Unix socket.
func openListeners(cfg *config.Config) (opened []*listener, err error) {
	defer func() {
		if err != nil {
			closeListeners(opened)
			opened = nil
		}
	}()
	opened, err = openPort(cfg, cfg.Port, false)
	if err != nil {
		return opened, err
	}
	secure, err := openPort(cfg, cfg.TLSPort, true)
	opened = append(opened, secure...)
	if err != nil {
		return opened, err
	}
	if cfg.UnixSocket != "" {
		l, err := openUnix(cfg)
		if err != nil {
			return opened, fmt.Errorf("Could not create server Unix listening socket %s: %w", cfg.UnixSocket, rootCause(err))
		}
		opened = append(opened, l)
	}
	return opened, nil
}

// openPort opens a port on every address that cfg names, or on none; 0 stands
// for no port. secure says that it is the TLS port.
func openPort(cfg *config.Config, port int, secure bool) (opened []*listener, err error) {
	if port == 0 {
		return nil, nil
	}
	if port == config.AnyPort {
		port = 0
	}
	for _, bind := range cfg.Bind {
		addr, optional := strings.CutPrefix(bind, "-")
		l, err := openTCP(cfg, addr, port, secure)
		if err != nil {
			if optional && isUnavailable(err) {
				continue
			}
			closeListeners(opened)
			return nil, fmt.Errorf("Could not create server TCP listening socket %s: %w",
				net.JoinHostPort(addr, strconv.Itoa(port)), rootCause(err))
		}
		opened = append(opened, l)
		port = l.Addr().(*net.TCPAddr).Port
	}
	if len(opened) == 0 && len(cfg.Bind) > 0 {
		return nil, errors.New("Could not create a TCP listening socket: none of the bind addresses is available")
	}
	return opened, nil
}

func openTCP(cfg *config.Config, host string, port int, secure bool) (*listener, error) {
	network := "tcp"
	switch {
	case host == "*":
		network, host = "tcp4", "0.0.0.0"
	case host == "::*":
		network, host = "tcp6", "::"
	case strings.Contains(host, ":"):
		network = "tcp6"
	}
	lc := net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{
			Enable:   cfg.TCPKeepAlive > 0,
			Idle:     cfg.TCPKeepAlive,
			Interval: max(cfg.TCPKeepAlive/3, 1),
			Count:    3,
		},
		Control: func(_, _ string, c syscall.RawConn) error { return setTCPOptions(c, cfg.TCPKeepAlive) },
	}
	if cfg.TCPKeepAlive == 0 {
		lc.KeepAlive = -1
	}
	l, err := lc.Listen(context.Background(), network, net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return newListener(cfg, &listener{Listener: l, tls: secure})
}

// openUnix replaces a socket that an earlier run left behind, as Redis does.
// Its permissions are in force before it can be reached.
func openUnix(cfg *config.Config) (*listener, error) {
	if info, err := os.Lstat(cfg.UnixSocket); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(cfg.UnixSocket); err != nil {
			return nil, err
		}
	}
	l, err := listenUnix(cfg.UnixSocket, cfg.UnixSocketPerm)
	if err != nil {
		return nil, err
	}
	return newListener(cfg, &listener{Listener: l, unix: true})
}

// newListener finishes l, or closes it.
func newListener(cfg *config.Config, l *listener) (*listener, error) {
	raw, err := l.Listener.(syscall.Conn).SyscallConn()
	if err == nil {
		err = setBacklog(raw, cfg.TCPBacklog)
	}
	if err == nil && cfg.IO == config.DriverEpoll && !l.tls {
		l.file, err = l.Listener.(interface{ File() (*os.File, error) }).File()
		if err == nil {
			l.raw, err = l.file.SyscallConn()
		}
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *listener) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
	_ = l.Close()
}

func closeListeners(ls []*listener) {
	for _, l := range ls {
		l.close()
	}
}

// isUnavailable reports whether err says that this machine does not have the
// address, which an optional bind address may.
func isUnavailable(err error) bool {
	var dns *net.DNSError
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) ||
		errors.Is(err, syscall.EPROTONOSUPPORT) || errors.As(err, &dns)
}

// rootCause shortens the net package's errors to what Redis would print:
// "bind: address already in use".
func rootCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
