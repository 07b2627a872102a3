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

	// For the epoll driver, nil under the net driver: a second descriptor of
	// the same socket, on which descriptors are accepted. The net package does
	// not let a listener be waited for in any other way.
	file *os.File
	raw  syscall.RawConn // of file
}

// openListeners opens every socket that cfg names, or none.
func openListeners(cfg *config.Config) (opened []*listener, err error) {
	defer func() {
		if err != nil {
			closeListeners(opened)
		}
	}()
	port := cfg.Port
	if port != 0 {
		if port == config.AnyPort {
			port = 0
		}
		for _, bind := range cfg.Bind {
			addr, optional := strings.CutPrefix(bind, "-")
			l, err := openTCP(cfg, addr, port)
			if err != nil {
				if optional && isUnavailable(err) {
					continue
				}
				return opened, fmt.Errorf("Could not create server TCP listening socket %s: %w",
					net.JoinHostPort(addr, strconv.Itoa(port)), rootCause(err))
			}
			opened = append(opened, l)
			port = l.Addr().(*net.TCPAddr).Port
		}
		if len(opened) == 0 && len(cfg.Bind) > 0 {
			return opened, errors.New("Could not create a TCP listening socket: none of the bind addresses is available")
		}
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

func openTCP(cfg *config.Config, host string, port int) (*listener, error) {
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
	return newListener(cfg, l, false)
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
	return newListener(cfg, l, true)
}

func newListener(cfg *config.Config, l net.Listener, unix bool) (*listener, error) {
	out := &listener{Listener: l, unix: unix}
	raw, err := l.(syscall.Conn).SyscallConn()
	if err == nil {
		err = setBacklog(raw, cfg.TCPBacklog)
	}
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	if cfg.IO == config.DriverEpoll {
		out.file, err = l.(interface{ File() (*os.File, error) }).File()
		if err == nil {
			out.raw, err = out.file.SyscallConn()
		}
		if err != nil {
			out.close()
			return nil, err
		}
	}
	return out, nil
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
