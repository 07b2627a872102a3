package hostile

import (
	"net"
	"testing"
)

// playOnce serves one connection: it sends the text and closes. stop waits for
// its end.
func playOnce(t *testing.T, text string) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := c.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().String(), func() {
		l.Close()
		<-done
	}
}
