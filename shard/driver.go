package shard

import (
	"errors"
	"time"
)

// A driver moves bytes between a loop's sessions and their sockets. All
// methods but wake are called on the loop's goroutine; none blocks except
// wait.
type driver interface {
	// ownThread reports whether the loop should own an operating system thread.
	ownThread() bool

	// poll appends what is ready now.
	poll(events []event) []event

	// wait appends what is ready, blocking until something is, wake is called
	// or timeout (negative: none) is over. The loop has set asleep before.
	wait(events []event, timeout time.Duration) []event

	// wake ends wait. Any goroutine may call it.
	wake()

	// add begins to watch a session's socket for input.
	add(s *Session) error

	// interest makes the driver watch for what s waits for: input unless deaf,
	// room for output while blocked.
	interest(s *Session)

	// read fills buf with what has arrived: 0 and no error when there is
	// nothing, errEOF when the client has closed its sending side.
	read(s *Session, buf []byte) (int, error)

	// write and writev send what the socket takes and return errAgain, with or
	// without some bytes written, when it takes no more.
	write(s *Session, b []byte) (int, error)
	writev(s *Session, bs [][]byte) (int, error)

	// drained is told that everything written so far was all there is.
	drained(s *Session)

	// shutdownWrite tells the client that nothing more will come.
	shutdownWrite(s *Session)

	// delivered reports whether the client's system has everything that was
	// written.
	delivered(s *Session) bool

	// remove stops watching s, if it was added, and closes its socket.
	remove(s *Session)

	// addrs returns the client's and our own address, as Redis prints them.
	addrs(s *Session) (remote, local string)

	// close frees what the driver holds; no session is left.
	close()
}

var (
	errAgain = errors.New("shard: the socket takes no more")
	errEOF   = errors.New("shard: the client has closed")
)

// newDriver returns the named driver for one loop of g.
func newDriver(name string, g *Group) (driver, error) {
	switch name {
	case "net":
		return newNetDriver(g), nil
	case "epoll":
		return newEpollDriver(g)
	}
	return nil, errors.New("shard: unknown driver " + name)
}
