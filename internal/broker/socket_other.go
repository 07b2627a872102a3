//go:build !linux

package broker

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

func (b *Broker) acceptRaw(*listener) error {
	return errors.New("descriptors can be accepted on Linux only")
}

// setTCPOptions leaves it to the net package, which sets the same options on
// each accepted connection.
func setTCPOptions(syscall.RawConn, time.Duration) error { return nil }

// setBacklog leaves the system's maximum, which the net package asks for.
func setBacklog(syscall.RawConn, int) error { return nil }

func listenUnix(path string, perm uint32) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err == nil && perm != 0 {
		err = os.Chmod(path, os.FileMode(perm))
	}
	return l, err
}
