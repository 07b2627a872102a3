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
	"time"

	"broker/internal/config"
)

// A listener is an open listening socket.
type listener struct {
	net.Listener
	unix bool
	tls  bool   // connections begin with a handshake
	host string // as bind names it, without the '-'

	// ka is the period of keep-alive that the net package gives to accepted
	// connections.
	ka time.Duration

	// accepting is closed when the acceptor has ended; nil: there is none. It
	// is set before the listener is in a state.
	accepting chan struct{}

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
	opener := opener{ctx: context.Background(), cfg: cfg}
	opened, err = opener.openPorts()
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

// An opener opens the TCP and the TLS port.
type opener struct {
	ctx context.Context // ends what waits, as the look-up of a host name
	cfg *config.Config

	// taken returns a listener that is open already, nil for none. nil: none
	// is.
	taken func(host string, port int, secure bool) *listener

	// vacate makes room for a listener on a port that is in use, and reports
	// whether it could. nil: it never can.
	vacate func(port int) bool
}

// openPorts opens both ports. After an error it returns those it has opened so
// far, those it has taken included.
func (o *opener) openPorts() (ls []*listener, err error) {
	ls, err = o.openPort(ls, o.cfg.Port, false)
	if err == nil {
		ls, err = o.openPort(ls, o.cfg.TLSPort, true)
	}
	return ls, err
}

// A portError says that a port could not be opened. Its text begins as
// Redis's, which tools wait for.
type portError struct {
	port int
	err  error
}

func (e *portError) Error() string {
	return fmt.Sprintf("Failed listening on port %d: %v", e.port, e.err)
}
func (e *portError) Unwrap() error { return e.err }

// openPort adds to ls the port on every address that the configuration names; 0 stands
// for no port. secure says that it is the TLS port.
func (o *opener) openPort(ls []*listener, port int, secure bool) ([]*listener, error) {
	if port == 0 {
		return ls, nil
	}
	asked := port
	if port == config.AnyPort {
		port = 0
	}
	opened := 0
	for _, bind := range o.cfg.Bind {
		host, optional := strings.CutPrefix(bind, "-")
		l, err := o.open(host, port, secure)
		if err != nil {
			if optional && isUnavailable(err) {
				continue
			}
			return ls, &portError{asked, fmt.Errorf("Could not create server TCP listening socket %s: %w",
				net.JoinHostPort(host, strconv.Itoa(port)), rootCause(err))}
		}
		opened++
		ls = append(ls, l)
		port = l.Addr().(*net.TCPAddr).Port
	}
	if opened == 0 && len(o.cfg.Bind) > 0 {
		return ls, &portError{asked, errors.New("none of the bind addresses is available")}
	}
	return ls, nil
}

// open returns a listener on one address.
func (o *opener) open(host string, port int, secure bool) (*listener, error) {
	if o.taken != nil {
		if l := o.taken(host, port, secure); l != nil {
			return l, nil
		}
	}
	l, err := openTCP(o.ctx, o.cfg, host, port, secure)
	if errors.Is(err, syscall.EADDRINUSE) && o.vacate != nil && o.vacate(port) {
		l, err = openTCP(o.ctx, o.cfg, host, port, secure)
	}
	return l, err
}

func openTCP(ctx context.Context, cfg *config.Config, host string, port int, secure bool) (*listener, error) {
	network, bind := "tcp", host
	switch {
	case host == "*":
		network, host = "tcp4", "0.0.0.0"
	case host == "::*":
		network, host = "tcp6", "::"
	case strings.Contains(host, ":"):
		network = "tcp6"
	}
	lc := net.ListenConfig{
		KeepAliveConfig: keepAlive(cfg.TCPKeepAlive),
		Control:         func(_, _ string, c syscall.RawConn) error { return setTCPOptions(c, cfg.TCPKeepAlive) },
	}
	if cfg.TCPKeepAlive == 0 {
		lc.KeepAlive = -1
	}
	l, err := lc.Listen(ctx, network, net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return newListener(cfg, &listener{Listener: l, tls: secure, host: bind, ka: cfg.TCPKeepAlive})
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

// keepAlive returns what the net package is told of a period of silence; 0
// never probes.
func keepAlive(idle time.Duration) net.KeepAliveConfig {
	return net.KeepAliveConfig{
		Enable:   idle > 0,
		Idle:     idle,
		Interval: max(idle/3, time.Second),
		Count:    3,
	}
}

// keepAlive gives an accepted connection the period that is in force now,
// unless that is what the net package gave it.
func (l *listener) keepAlive(c net.Conn, idle time.Duration) {
	if tcp, ok := c.(*net.TCPConn); ok && idle != l.ka {
		// A connection that has ended meanwhile is found out elsewhere.
		_ = tcp.SetKeepAliveConfig(keepAlive(idle))
	}
}

// close ends listening and waits for the acceptor to end, if there is one.
func (l *listener) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
	_ = l.Close()
	if l.accepting != nil {
		<-l.accepting
	}
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
