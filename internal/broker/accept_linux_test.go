package broker

import (
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"broker/internal/config"
)

// TestBroker_KeepsAcceptingWithoutDescriptors runs in a process of its own,
// with few descriptors: connections wait while there is none left, nobody who
// is connected notices, and accepting goes on when one is free.
func TestBroker_KeepsAcceptingWithoutDescriptors(t *testing.T) {
	const child = "BROKER_TEST_FEW_DESCRIPTORS"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { c.IO = io })
		s, p := dial(t, b.Addrs()[0]), dial(t, b.Addrs()[0])
		s.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")
		p.do("PING", "+PONG")

		// The clients live in this process too: both ends of a connection count.
		waiting, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(waiting)
		var before unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
		full := before
		full.Cur = uint64(waiting) + 1 // every descriptor below it is in use
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &full); err != nil {
			t.Fatal(err)
		}
		restore := func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &before) }
		defer restore()

		addr := b.Addrs()[0].(*net.TCPAddr)
		sa := &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte{127, 0, 0, 1}}
		if err := unix.Connect(waiting, sa); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Write(waiting, []byte("PING\r\n")); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			p.do("PUBLISH news on", ":1")
			s.expect("*3", "$7", "message", "$4", "news", "$2", "on")
		}
		if n := b.group.Sessions(); n != 2 {
			t.Fatalf("%d sessions: the third was accepted, so nothing was tested", n)
		}
		restore()
		tv := unix.NsecToTimeval(int64(20 * time.Second))
		if err := unix.SetsockoptTimeval(waiting, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 16)
		n, err := unix.Read(waiting, buf)
		if err != nil || string(buf[:n]) != "+PONG\r\n" {
			t.Fatalf("after a descriptor was free: %q, %v", buf[:max(n, 0)], err)
		}
	})
}

// TestBroker_ConnectionsAreKeptAlive looks at what an accepted socket
// inherited.
func TestBroker_ConnectionsAreKeptAlive(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { c.IO, c.TCPKeepAlive = io, 123*time.Second })
		c := dial(t, b.Addrs()[0])
		c.do("PING", "+PONG")
		// Our end of the connection is found by its address among the process's
		// descriptors.
		for fd := 3; fd < 1024; fd++ {
			sa, err := unix.Getpeername(fd)
			in, ok := sa.(*unix.SockaddrInet4)
			if err != nil || !ok || in.Port != c.LocalAddr().(*net.TCPAddr).Port {
				continue
			}
			idle, err1 := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE)
			on, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE)
			nodelay, err3 := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY)
			if err1 != nil || err2 != nil || err3 != nil || idle != 123 || on == 0 || nodelay == 0 {
				t.Errorf("keepalive %d after %d s, nodelay %d (%v %v %v)", on, idle, nodelay, err1, err2, err3)
			}
			return
		}
		t.Error("the broker's end of the connection was not found")
	})
}
