package broker

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"broker/shard"
)

// maxAcceptPause is the longest pause after an accept that failed, for
// example because the process has no descriptor left. Connections that wait
// stay in the backlog; accepting resumes at most this long after the cause
// is gone.
const maxAcceptPause = 100 * time.Millisecond

const maxClientsError = "-ERR max number of clients reached\r\n"

// accept is the acceptor goroutine of one listener. It ends when the listener
// is closed.
func (b *Broker) accept(l *listener) {
	pause := time.Duration(0)
	for {
		err := b.acceptOne(l)
		switch {
		case err == nil:
			pause = 0
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		if pause == 0 {
			pause = maxAcceptPause / 16
			b.log.Warn("cannot accept connections", "addr", l.Addr().String(), "error", err)
		}
		pause = min(2*pause, maxAcceptPause)
		select {
		case <-time.After(pause):
		case <-b.stopping:
			return
		}
	}
}

// acceptOne waits for the next connection and gives it to a shard.
func (b *Broker) acceptOne(l *listener) error {
	if l.raw != nil {
		return b.acceptRaw(l)
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	if b.full() {
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.Write([]byte(maxClientsError))
		_ = c.Close()
		return nil
	}
	conn := shard.Conn{Net: c, Unix: l.unix}
	if addr, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		conn.Remote = unmapped(addr.AddrPort())
	}
	b.group.Adopt(conn)
	return nil
}

// full reports whether one more session would be one too many, and counts the
// refusal.
func (b *Broker) full() bool {
	if b.group.Sessions() < b.cfg.MaxClients {
		return false
	}
	b.rejected.Add(1)
	return true
}

// unmapped writes an IPv4 address that came in over IPv6 as what it is.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
