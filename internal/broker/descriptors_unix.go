//go:build unix

package broker

import (
	"math"
	"syscall"
)

// reservedDescriptors are for what is no client: as many as Redis reserves,
// and more when there are many shards with two each.
func reservedDescriptors(shards int) uint64 { return uint64(max(32, 16+4*shards)) }

// maxDescriptorClients returns how many clients the limit of open files leaves
// room for, at least 1. The Go runtime has raised the limit as far as it goes.
func maxDescriptorClients(shards int) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt
	}
	return clientsWithin(uint64(limit.Cur), shards)
}

func clientsWithin(descriptors uint64, shards int) int {
	reserved := reservedDescriptors(shards)
	if descriptors <= reserved {
		return 1
	}
	return int(min(descriptors-reserved, math.MaxInt))
}
