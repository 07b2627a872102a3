package broker

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"broker/internal/config"
)

// TestTLS_Churn has clients of both ports come, subscribe, publish, kill each
// other and go in every way at once, while certificates are reloaded. One
// subscriber of each port stays: it gets every message that was acknowledged,
// each publisher's in its order. In the end nothing is left.
func TestTLS_Churn(t *testing.T) {
	drivers(t, func(t *testing.T, driver config.Driver) {
		h := newTLSHouse(t)
		b := start(t, func(c *config.Config) { h.configure(c); c.IO = driver })
		stays := []*client{dialTLS(t, b, h.clientConfig(nil)), dial(t, b.Addrs()[0])}
		for _, s := range stays {
			s.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")
		}
		const publishers, messages, crowd, lives = 2, 150, 6, 15
		var all sync.WaitGroup
		for p := range publishers {
			c := dialTLS(t, b, h.clientConfig(nil))
			all.Go(func() {
				for i := range messages {
					if _, err := fmt.Fprintf(c, "PUBLISH news %d.%04d\r\n", p, i); err != nil {
						t.Error(err)
						return
					}
					if line, err := c.r.ReadString('\n'); err != nil || line[0] != ':' {
						t.Errorf("PUBLISH: %q, %v", line, err)
						return
					}
				}
			})
		}
		for n := range crowd {
			all.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				for range lives {
					live(t, b, h, r)
				}
			})
		}
		cfg := h.config()
		for range 10 {
			if err := b.reloadTLS(&cfg); err != nil {
				t.Error(err)
			}
		}
		for _, s := range stays {
			next := [publishers]int{}
			for range publishers * messages {
				s.expect("*3", "$7", "message", "$4", "news", "$6")
				line, err := s.r.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				var p, i int
				if _, err := fmt.Sscanf(line, "%d.%d", &p, &i); err != nil || i != next[p] {
					t.Fatalf("%q, want number %d of its publisher (%v)", line, next[p], err)
				}
				next[p]++
			}
			s.do("UNSUBSCRIBE", "*3", "$11", "unsubscribe", "$4", "news", ":0")
		}
		all.Wait()
		stays[0].do("PUBLISH news gone", ":0") // whoever has gone is not counted
	})
}

// live is the life of one client: it subscribes, gets some messages perhaps,
// and ends in one of several ways. It returns when the broker has closed it.
func live(t *testing.T, b *Broker, h *tlsHouse, r *rand.Rand) {
	var c net.Conn = dial(t, b.Addrs()[0]).Conn
	if r.IntN(3) > 0 {
		_ = c.Close()
		c = dialTLS(t, b, h.clientConfig(nil)).Conn
	}
	defer c.Close()
	in := bufio.NewReader(c)
	_, err := io.WriteString(c, "CLIENT ID\r\nSUBSCRIBE news other\r\n")
	if err != nil {
		t.Error(err)
		return
	}
	id, err := in.ReadString('\n')
	if err != nil {
		t.Error(err)
		return
	}
	id = strings.Trim(id, ":\r\n")
	if _, err := in.ReadString('\n'); err != nil {
		t.Error(err)
	}
	switch r.IntN(5) {
	case 0:
		_, _ = io.WriteString(c, "QUIT\r\n")
	case 1:
		if half, ok := c.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	case 2:
		_, _ = io.WriteString(c, "*1\r\n$x\r\n")
	case 3:
		killer := dialTLS(t, b, h.clientConfig(nil))
		_, _ = io.WriteString(killer, "CLIENT KILL ID "+id+"\r\n")
		if line, err := killer.r.ReadString('\n'); err != nil || line != ":1\r\n" {
			t.Errorf("CLIENT KILL: %q, %v", line, err)
		}
		killer.Close()
	case 4:
		_ = c.Close()
		// Its end has no witness: the next asks until the broker has noticed.
		asker := dialTLS(t, b, h.clientConfig(nil))
		for gone := false; !gone; {
			_, _ = io.WriteString(asker, "CLIENT LIST ID "+id+"\r\n")
			line, err := asker.r.ReadString('\n')
			if err != nil {
				t.Error(err)
				return
			}
			if gone = line == "$0\r\n"; !gone {
				_, err = asker.r.ReadString('\n')
			}
			if err == nil {
				_, err = asker.r.ReadString('\n')
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
		asker.Close()
		return
	}
	_, _ = io.Copy(io.Discard, in)
}
