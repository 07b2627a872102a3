package cli

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	"broker/resp"
)

// A conn is a connection to a server, after the handshake. One goroutine may
// send while another receives.
type conn struct {
	net     net.Conn
	timeout time.Duration // of a reply in do; 0: none
	release func() bool   // lets go of the context

	// Used by the goroutine that sends.
	w *bufio.Writer
	b resp.Writer

	// Used by the goroutine that receives.
	r *bufio.Reader
}

const bufferBytes = 64 << 10

// dial connects and logs in. Cancelling ctx, later too, closes the connection.
func (t *target) dial(ctx context.Context) (*conn, error) {
	network, addr := t.address()
	dialer := net.Dialer{Timeout: t.timeout}
	nc, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if t.tls {
		cfg, err := t.tlsConfig()
		if err != nil {
			nc.Close()
			return nil, err
		}
		secure := tls.Client(nc, cfg)
		handshake, cancel := ctx, context.CancelFunc(func() {})
		if t.timeout > 0 {
			handshake, cancel = context.WithTimeout(ctx, t.timeout)
		}
		err = secure.HandshakeContext(handshake)
		cancel()
		if err != nil {
			nc.Close()
			return nil, fmt.Errorf("TLS handshake with %s: %w", addr, err)
		}
		nc = secure
	}
	c := &conn{
		net:     nc,
		timeout: t.timeout,
		w:       bufio.NewWriterSize(nc, bufferBytes),
		r:       bufio.NewReaderSize(nc, bufferBytes),
	}
	c.release = context.AfterFunc(ctx, func() { nc.Close() })
	if err := c.login(t); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// login authenticates, and selects the database, as far as the target asks.
func (c *conn) login(t *target) error {
	var steps [][]string
	switch {
	case t.password != "" && t.user != "":
		steps = append(steps, []string{"AUTH", t.user, t.password})
	case t.password != "":
		steps = append(steps, []string{"AUTH", t.password})
	}
	if t.resp3 {
		steps = append(steps, []string{"HELLO", "3"})
	}
	if t.database != 0 {
		steps = append(steps, []string{"SELECT", strconv.Itoa(t.database)})
	}
	for _, s := range steps {
		v, err := c.do(s...)
		if err == nil {
			err = v.err()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s[0], err)
		}
	}
	return nil
}

func (c *conn) close() {
	c.release()
	c.net.Close()
}

// send writes a command into the buffer.
func (c *conn) send(args ...string) error {
	c.b.B = c.b.B[:0]
	c.b.Array(len(args))
	for _, a := range args {
		c.b.BulkString(a)
	}
	_, err := c.w.Write(c.b.B)
	return err
}

// receive waits for the next value, within the timeout if there is one.
func (c *conn) receive(timeout time.Duration) (value, error) {
	deadline := time.Time{}
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	if err := c.net.SetReadDeadline(deadline); err != nil {
		return value{}, err
	}
	return readValue(c.r)
}

// do sends a command and waits for its reply. What a server pushes meanwhile
// is passed over.
func (c *conn) do(args ...string) (value, error) {
	if err := c.send(args...); err != nil {
		return value{}, err
	}
	if err := c.w.Flush(); err != nil {
		return value{}, err
	}
	for {
		v, err := c.receive(c.timeout)
		if err != nil || v.kind != '>' {
			return v, err
		}
	}
}
