package faults

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// abuses are what clients do that have not logged in. Each writes to its
// connection until it is done or the broker has had enough.
var abuses = []struct {
	name   string
	secure bool // on the TLS port
	abuse  func(c net.Conn)
}{
	{"flood without reading", false, func(c net.Conn) {
		b := []byte(strings.Repeat("PING\r\n", 1000))
		for {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}},
	{"many arguments", false, func(c net.Conn) { fmt.Fprint(c, "*1000000\r\n$4\r\nAUTH\r\n") }},
	{"a long argument", false, func(c net.Conn) {
		fmt.Fprint(c, "*2\r\n$4\r\nAUTH\r\n$536870912\r\n")
		b := make([]byte, 64<<10)
		for {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}},
	{"an argument that never ends", false, func(c net.Conn) { fmt.Fprint(c, "*2\r\n$4\r\nAUTH\r\n$16384\r\nxxxx") }},
	{"silence", false, func(net.Conn) {}},
	{"half a TLS handshake", true, func(c net.Conn) { c.Write([]byte("\x16\x03\x01\x02\x00\x01\x00\x01")) }},
}

// TestPreAuth_FloodsAreBounded lets clients that have no password do their
// worst, all at once: each is closed by a limit or by time, memory does not
// follow what they send or announce, and who has the password is served.
func TestPreAuth_FloodsAreBounded(t *testing.T) {
	aside(t)
	each := reliability.Size(40, 1000)
	raiseDescriptors(t)
	cert, key, _ := harness.Certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secure := l.Addr().String()
	l.Close()
	_, tlsPort, _ := net.SplitHostPort(secure)
	p := start(t, "", "--requirepass", "pw", "--auth-timeout", "2", "--maxclients", "12000",
		"--tls-port", tlsPort, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no")
	legitimate := p.dial()
	if v, err := legitimate.Do("AUTH", "pw"); err != nil || v.Text != "OK" {
		t.Fatal(v, err)
	}
	before := p.residentBytes()
	w := startWitness(t, p.addr, "pw")
	var all sync.WaitGroup
	var mu sync.Mutex
	open := 0
	for _, a := range abuses {
		for range each {
			addr := p.addr
			if a.secure {
				addr = secure
			}
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(harness.Patience))
				a.abuse(c)
				// It does not read while it floods; in the end it must be closed.
				b := make([]byte, 4096)
				for {
					if _, err := c.Read(b); err != nil {
						if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
							mu.Lock()
							open++
							mu.Unlock()
							t.Errorf("%s: not closed", a.name)
						}
						return
					}
				}
			})
		}
	}
	closed := make(chan struct{})
	go func() {
		all.Wait()
		close(closed)
	}()
	most := int64(0)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case <-closed:
			waiting = false
		case <-look.C:
		}
		most = max(most, p.residentBytes()-before)
	}
	beside := w.end(t)
	if most > 64<<20 {
		t.Errorf("memory grew by %d MiB", most>>20)
	}
	await(t, "all to be gone", func() bool { return info(t, legitimate, "connected_clients") == 1 })
	// And the door is open again, in both ways.
	if v, err := p.dial().Do("PING"); err != nil || !strings.HasPrefix(v.Text, "NOAUTH") {
		t.Errorf("afterwards: %v %v", v, err)
	}
	c, err := tls.Dial("tcp", secure, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatalf("afterwards over TLS: %v", err)
	}
	c.Close()
	reliability.Note(t, "pre-auth", "%d connections of %d kinds at once: all closed by the broker, memory grew by %d MiB; %v",
		each*len(abuses), len(abuses), most>>20, beside)
}

// TestGuessing_IsSlowedDownPerAddress has one address guess passwords as fast
// as it can, on many connections, while another logs in.
func TestGuessing_IsSlowedDownPerAddress(t *testing.T) {
	aside(t)
	const (
		perSecond = 20 // guesses that an address may have checked
		burst     = 20 // beyond that, at the start
	)
	for _, v := range harness.Variants(2) {
		t.Run(v.String(), func(t *testing.T) {
			target := v.Start(t, "--requirepass", "pw")
			period := reliability.Period(t, "GUESSING", 1500*time.Millisecond, 10*time.Second)
			done := make(chan struct{})
			var guessers sync.WaitGroup
			var mu sync.Mutex
			checked, refused := 0, 0
			begin := time.Now()
			for range 8 {
				c := target.Dial(t)
				guessers.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-done:
							return
						default:
						}
						v, err := c.Do("AUTH", fmt.Sprint("guess ", n))
						if err != nil {
							return // closed: it has had its time to log in
						}
						mu.Lock()
						if strings.HasPrefix(v.Text, "WRONGPASS") {
							checked++
						} else {
							refused++
						}
						mu.Unlock()
					}
				})
			}
			// Somebody else, from another address of this machine.
			from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: harness.Patience}
			logins, worst := 0, time.Duration(0)
			for time.Since(begin) < period {
				c, err := from.Dial("tcp", target.Addr)
				if err != nil {
					t.Fatal(err)
				}
				c.SetDeadline(time.Now().Add(harness.Patience))
				at := time.Now()
				b := make([]byte, 16)
				fmt.Fprint(c, "AUTH pw\r\n")
				if n, err := c.Read(b); err != nil || string(b[:n]) != "+OK\r\n" {
					t.Fatalf("another address logs in: %q %v", b[:n], err)
				}
				worst = max(worst, time.Since(at))
				logins++
				c.Close()
			}
			spent := time.Since(begin)
			mu.Lock()
			limit := burst + int(perSecond*spent.Seconds())
			if checked > limit || checked == 0 {
				t.Errorf("%d guesses were checked in %v, at most %d may be", checked, spent, limit)
			}
			n, m := checked, refused
			mu.Unlock()
			target.Stop()
			close(done)
			guessers.Wait()
			// One login after the other, unhindered, must be far more than guesses.
			if logins < 2*n {
				t.Errorf("another address got %d logins through beside %d guesses", logins, n)
			}
			reliability.Note(t, "guessing", "8 connections guess for %.0f s: %d checked, %d refused unchecked; meanwhile %d logins from another address, the slowest %.1f ms",
				spent.Seconds(), n, m, logins, float64(worst.Microseconds())/1e3)
		})
	}
}
