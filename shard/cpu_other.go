//go:build !linux

package shard

// threadCPU is unknown here, and no driver has a thread of its own.
func threadCPU() int64 { return 0 }
