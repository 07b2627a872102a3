package main

import (
	"bytes"
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// stalledReceiveBytes is the receive buffer of subscribers that do not read. A
// small one keeps the backlog in the server, where it is to be measured, and
// out of the kernel.
const stalledReceiveBytes = 64 << 10

// connect opens a blocking connection and exchanges greetings. A receiveBytes
// above zero sets the socket's receive buffer.
func (g *generator) connect(ctx context.Context, receiveBytes int) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	g.fds = append(g.fds, fd)
	timeout := unix.Timeval{Sec: setupTimeout}
	for _, set := range []func() error{
		func() error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) },
		// Closing resets: thousands of connections per run would otherwise
		// leave as many ports waiting.
		func() error {
			return unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		},
		func() error { return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout) },
		func() error { return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout) },
		func() error {
			if receiveBytes == 0 {
				return nil
			}
			return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBytes)
		},
	} {
		if err := set(); err != nil {
			return nil, fmt.Errorf("set a socket option: %w", err)
		}
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: g.t.port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c := &conn{fd: fd}
	readLines, hello, answerLines := g.t.proto.greeting()
	if err := g.awaitLines(c, readLines); err != nil {
		return nil, err
	}
	return c, g.exchange(c, []byte(hello), answerLines)
}

// exchange writes out to a blocking connection and reads the lines that answer it.
func (g *generator) exchange(c *conn, out []byte, lines int) error {
	for len(out) > 0 {
		n, err := unix.Write(c.fd, out)
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		out = out[n:]
	}
	return g.awaitLines(c, lines)
}

// awaitLines reads from a blocking connection until it has seen as many lines.
// An error reply, which no set-up command deserves, ends the run.
func (g *generator) awaitLines(c *conn, lines int) error {
	for first := true; lines > 0; first = false {
		n, err := unix.Read(c.fd, g.buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case n == 0:
			return errClosed
		case first && g.buf[0] == '-':
			line, _, _ := bytes.Cut(g.buf[:n], []byte("\r\n"))
			return fmt.Errorf("the server refused: %q", line)
		}
		lines -= bytes.Count(g.buf[:n], []byte{'\n'})
	}
	return nil
}

// subscribeOne subscribes a blocking connection to one name.
func (g *generator) subscribeOne(c *conn, pattern bool, name string) error {
	out, lines := g.t.proto.appendSubscribe(nil, pattern, []string{name})
	return g.exchange(c, out, lines)
}

// subscribeForm subscribes a blocking connection to the n names that form
// gives from first on.
func (g *generator) subscribeForm(c *conn, pattern bool, form string, first, n int) error {
	for n > 0 {
		names := make([]string, min(n, namesPerBatch))
		for i := range names {
			names[i] = fmt.Sprintf(form, first+i)
		}
		out, lines := g.t.proto.appendSubscribe(nil, pattern, names)
		if err := g.exchange(c, out, lines); err != nil {
			return err
		}
		first, n = first+len(names), n-len(names)
	}
	return nil
}

// subscribeAll connects the workload's subscribers of channels and patterns.
// Unless read is set the loop leaves what they receive in their sockets.
func (g *generator) subscribeAll(ctx context.Context, read bool) error {
	receiveBytes := 0
	if !read {
		receiveBytes = stalledReceiveBytes
	}
	join := func(subscribe func(*conn) error) error {
		c, err := g.connect(ctx, receiveBytes)
		if err != nil {
			return err
		}
		c.subscriber = true
		if err := subscribe(c); err != nil || !read {
			return err
		}
		return g.watch(c)
	}
	for i := range g.w.Channels * g.w.Subscribers {
		name := fmt.Sprintf(channelForm, i%g.w.Channels)
		if err := join(func(c *conn) error { return g.subscribeOne(c, false, name) }); err != nil {
			return err
		}
	}
	conns := min(patternConns, g.w.Patterns)
	for i := range conns {
		first, end := g.w.Patterns*i/conns, g.w.Patterns*(i+1)/conns
		if err := join(func(c *conn) error { return g.subscribeForm(c, true, g.w.PatternForm, first, end-first) }); err != nil {
			return err
		}
	}
	for _, pattern := range matchingPatterns[:g.w.Matching] {
		if err := join(func(c *conn) error { return g.subscribeOne(c, true, pattern) }); err != nil {
			return err
		}
	}
	return nil
}

// holdExisting gives the workload's existing channels a subscriber each.
func (g *generator) holdExisting(ctx context.Context) error {
	conns := min(existingConns, g.w.Existing)
	for i := range conns {
		c, err := g.connect(ctx, 0)
		if err != nil {
			return err
		}
		c.subscriber = true
		first, end := g.w.Existing*i/conns, g.w.Existing*(i+1)/conns
		if err := g.subscribeForm(c, false, "ex%07d", first, end-first); err != nil {
			return err
		}
		if err := g.watch(c); err != nil {
			return err
		}
	}
	return nil
}

// openSenders connects n clients that will send requests. The caller watches
// them once they are set up.
func (g *generator) openSenders(ctx context.Context, n int) ([]*conn, error) {
	senders := make([]*conn, n)
	for i := range senders {
		c, err := g.connect(ctx, 0)
		if err != nil {
			return nil, err
		}
		senders[i] = c
	}
	return senders, nil
}
