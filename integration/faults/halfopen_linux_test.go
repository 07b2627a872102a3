package faults

import (
	"net"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"broker/integration/reliability"
)

// vanish makes a connection disappear without telling the other end, as a
// machine does that loses its power: the kernel forgets a socket in repair mode
// in silence. It reports whether the process may do that.
func vanish(t *testing.T, c net.Conn) bool {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var set error
	if err := raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_REPAIR, 1)
	}); err != nil {
		t.Fatal(err)
	}
	if set == syscall.EPERM {
		return false
	}
	if set != nil {
		t.Fatal(set)
	}
	c.Close()
	return true
}

// TestHalfOpen_FoundByKeepAliveAndByMessages: clients vanish without a word.
// Those that are published to are found by that, the silent ones by probes, and
// nobody else notices.
func TestHalfOpen_FoundByKeepAliveAndByMessages(t *testing.T) {
	aside(t)
	clients := reliability.Size(40, 1000)
	p := start(t, "", "--tcp-keepalive", "1")
	b := startBeat(t, p.addr, "witness")
	observer := p.dial()
	var gone []net.Conn
	for i := range clients {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		channel := "silent"
		if i%2 == 0 {
			channel = "busy"
		}
		if _, err := c.Write([]byte("SUBSCRIBE " + channel + "\r\n")); err != nil {
			t.Fatal(err)
		}
		gone = append(gone, c)
	}
	count := func(channel string) int {
		v, err := observer.Do("PUBSUB", "NUMSUB", channel)
		if err != nil || len(v.Elems) != 2 {
			t.Fatal(v, err)
		}
		n, _ := strconv.Atoi(v.Elems[1].Text)
		return n
	}
	await(t, "all to subscribe", func() bool { return count("silent")+count("busy") == clients })
	for _, c := range gone {
		if !vanish(t, c) {
			b.end(t)
			t.Skip("optional: to make a connection vanish takes the capability CAP_NET_ADMIN")
		}
	}
	await(t, "those who are published to to be found", func() bool {
		if _, err := observer.Do("PUBLISH", "busy", "anybody there"); err != nil {
			t.Fatal(err)
		}
		return count("busy") == 0
	})
	await(t, "the silent ones to be found", func() bool { return count("silent") == 0 })
	trips := b.end(t)
	reliability.Note(t, "half-open", "%d clients vanish: half found by messages, half by probes, %d messages of a witness all arrived", clients, len(trips))
}
