package admin

import (
	"net"
	"sync"
)

// A limited is a listener with a bounded number of open connections. Further
// ones wait in the system's backlog.
type limited struct {
	net.Listener
	slots chan struct{} // holds an element per open connection

	closing   sync.Once
	isClosing chan struct{}
}

func newLimited(l net.Listener, most int) *limited {
	return &limited{Listener: l, slots: make(chan struct{}, most), isClosing: make(chan struct{})}
}

// Accept waits for a free place and then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.isClosing:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: c, slots: l.slots}, nil
}

// Close may be called more than once, which net/http does.
func (l *limited) Close() (err error) {
	l.closing.Do(func() {
		close(l.isClosing)
		err = l.Listener.Close()
	})
	return err
}

// A limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.slots })
	return err
}
