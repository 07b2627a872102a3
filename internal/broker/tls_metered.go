package broker

import (
	"errors"
	"net"
	"syscall"
)

// maxHandshakeBytes is the most a client may send in a handshake. A
// ClientHello takes up to 2 KiB, a chain of certificates some more; crypto/tls
// alone would take a hello of 64 KiB and a chain of 256 KiB from anybody.
const maxHandshakeBytes = 32 << 10

var errHandshakeLong = errors.New("the client sends too much")

// A meteredConn bounds what is read from a connection until lift is called.
// What was read together with the handshake's end, of the commands behind it,
// does no harm: only the read that follows fails.
type meteredConn struct {
	net.Conn

	// Owned by whoever reads: the handshake, then the session's reader.
	metered bool
	left    int
}

func newMeteredConn(c net.Conn) *meteredConn {
	return &meteredConn{Conn: c, metered: true, left: maxHandshakeBytes}
}

func (c *meteredConn) lift() { c.metered = false }

func (c *meteredConn) Read(b []byte) (int, error) {
	if !c.metered {
		return c.Conn.Read(b)
	}
	if c.left <= 0 {
		return 0, errHandshakeLong
	}
	n, err := c.Conn.Read(b)
	c.left -= n
	return n, err
}

// SyscallConn lets the descriptor be shown.
func (c *meteredConn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
