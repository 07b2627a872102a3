package hostile

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"broker/integration/harness"
)

// elsewhere is an address that is not a loopback one, in a network namespace
// of the test's own: to the broker it is another machine.
const elsewhere = "10.9.8.7"

// inNamespace says to the test's own program that it runs in there.
const inNamespace = "HOSTILE_NAMESPACE"

// TestProtectedMode_TurnsOtherMachinesAway runs itself once more in a network
// namespace where it may have an address that is not loopback, and compares
// what a client from there is told with what redis-server tells it.
func TestProtectedMode_TurnsOtherMachinesAway(t *testing.T) {
	if os.Getenv(inNamespace) != "" {
		addAddress(t)
		protectedMode(t)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("optional: this system gives no namespace of one's own: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// addAddress gives the namespace's loopback device its addresses.
func addAddress(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	up, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up); err != nil {
		t.Fatal(err)
	}
	alias, err := unix.NewIfreq("lo:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := alias.SetInet4Addr(net.ParseIP(elsewhere).To4()); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFADDR, alias); err != nil {
		t.Fatal(err)
	}
}

// ask connects from an address to a port there, sends PING, and returns what
// comes until the server closes or has answered.
func ask(t *testing.T, from, port string) string {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: harness.Patience}
	c, err := d.Dial("tcp", net.JoinHostPort(from, port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(harness.Patience))
	// A server that has turned us away may have closed by now.
	fmt.Fprint(c, "PING\r\n")
	var got []byte
	b := make([]byte, 4096)
	for !strings.HasSuffix(string(got), "PONG\r\n") {
		n, err := c.Read(b)
		got = append(got, b[:n]...)
		if err != nil {
			break
		}
		if strings.HasPrefix(string(got), "-NOAUTH") {
			break
		}
	}
	return string(got)
}

func protectedMode(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags []string
	}{
		{"protected", nil},
		{"not protected", []string{"--protected-mode", "no"}},
		{"with a password", []string{"--requirepass", "pw"}},
	} {
		flags := append([]string{"--bind", "0.0.0.0"}, tc.flags...)
		redis := harness.StartRedis(t, flags...)
		for _, v := range harness.Variants(2) {
			target := v.Start(t, flags...)
			for _, from := range []string{"127.0.0.1", elsewhere} {
				want, got := ask(t, from, redis.Port()), ask(t, from, target.Port())
				// Corrected in later versions of Redis.
				want = strings.Replace(want, "Setup a an", "Set up an", 1)
				if got != want || want == "" {
					t.Errorf("%s, %v, from %s:\nredis  %q\nbroker %q", tc.name, v, from, want, got)
				}
				if denied := strings.HasPrefix(got, "-DENIED "); denied != (from == elsewhere && tc.flags == nil) {
					t.Errorf("%s, %v, from %s: %q", tc.name, v, from, got)
				}
			}
		}
	}
}
