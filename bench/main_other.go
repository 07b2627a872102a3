//go:build !linux

package main

import (
	"fmt"
	"os"
)

// The generator is built on epoll and reads the server's use of the machine
// from /proc, and there is nothing it could honestly report without them.
func main() {
	fmt.Fprintln(os.Stderr, "bench: runs on Linux only")
	os.Exit(2)
}
