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

// What a connection that is not served is told. Clients know them by their
// beginning.
const (
	maxClientsError        = "-ERR max number of clients reached\r\n"
	maxClusterClientsError = "-ERR max number of clients + cluster connections reached\r\n"

	protectedError = "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. " +
		"In this mode connections are only accepted from the loopback interface. " +
		"If you want to connect from external computers to Redis you may adopt one of the following solutions: " +
		"1) Just disable protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis from the same host the server is running, " +
		"however MAKE SURE Redis is not publicly accessible from internet if you do so. Use CONFIG REWRITE to make this change permanent. " +
		"2) Alternatively you can just disable the protected mode by editing the Redis configuration file, and setting the protected mode option to 'no', and then restarting the server. " +
		"3) If you started the server manually just for testing, restart it with the '--protected-mode no' option. " +
		"4) Set up an authentication password for the default user. " +
		"NOTE: You only need to do one of the above things in order for the server to start accepting connections from the outside.\r\n"
)

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

// acceptOne waits for the next connection and gives it to a shard, after the
// handshake where there is one.
func (b *Broker) acceptOne(l *listener) error {
	if l.raw != nil {
		return b.acceptRaw(l)
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	l.keepAlive(c, b.current.Load().cfg.TCPKeepAlive)
	conn := shard.Conn{Net: c, Unix: l.unix}
	if addr, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		conn.Remote = unmapped(addr.AddrPort())
	}
	if l.tls {
		b.startTLS(c, conn)
		return nil
	}
	if why := b.refusal(conn); why != "" {
		refuse(c, why)
		return nil
	}
	b.group.Adopt(conn)
	return nil
}

// refuse tells a client why it is not served and closes its connection.
func refuse(c net.Conn, why string) {
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = c.Write([]byte(why))
	_ = c.Close()
}

// refusal returns what to tell a connection that is not served, and counts it;
// "" says that it is.
func (b *Broker) refusal(c shard.Conn) string {
	switch {
	case b.full():
		b.rejected.Add(1)
		if b.current.Load().cfg.ClusterEnabled {
			return maxClusterClientsError
		}
		return maxClientsError
	case b.protects(c):
		b.rejected.Add(1)
		return protectedError
	}
	return ""
}

// protects reports whether protected mode keeps c out.
func (b *Broker) protects(c shard.Conn) bool {
	return b.current.Load().cfg.ProtectedMode && !c.Unix && !c.Remote.Addr().IsLoopback() && b.users.Open()
}

// full reports whether there are as many clients as there may be, those whose
// handshake is in progress included.
func (b *Broker) full() bool {
	return b.group.Sessions()+int(b.handshakes.count.Load()) >= b.current.Load().cfg.MaxClients
}

// unmapped writes an IPv4 address that came in over IPv6 as what it is.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
