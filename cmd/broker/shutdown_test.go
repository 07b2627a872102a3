package main

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// TestShutdownCommand_EndsTheProcess: SHUTDOWN is not answered; what was
// published before arrives, and when the connection ends nobody listens any
// more.
func TestShutdownCommand_EndsTheProcess(t *testing.T) {
	for _, words := range []string{"SHUTDOWN", "shutdown nosave now force", "SHUTDOWN SAVE"} {
		p, addr := startReady(t)
		sub, c := dial(t, "tcp", addr), dial(t, "tcp", addr)
		sub.send(t, "SUBSCRIBE", "ch")
		sub.expect(t, "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n")
		c.send(t, "SHUTDOWN", "ABORT")
		c.expect(t, "-ERR No shutdown in progress.\r\n")
		c.send(t, "PUBLISH", "ch", "last")
		c.send(t, strings.Fields(words)...)
		c.send(t, "PING")
		c.expect(t, ":1\r\n")
		if b, err := c.r.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %q, %v; want the end of the connection", words, b, err)
		}
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Errorf("%s: the port is listened on when the asking connection has ended", words)
		}
		sub.expect(t, "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$4\r\nlast\r\n")
		if p.line(t, "command=SHUTDOWN") == "" {
			t.Errorf("%s: the log does not say why the broker ends", words)
		}
		if status := p.exit(t); status != exitOK {
			t.Errorf("%s: exit status %d", words, status)
		}
	}
}
