package main

import (
	"os"
	"strconv"
	"strings"
)

// writePIDFile makes path hold this process's id, as a line of its own.
func writePIDFile(path string) error {
	return os.WriteFile(path, []byte(ownPID()+"\n"), 0o644)
}

// removePIDFile removes the file unless another process has put its own id
// into it meanwhile. There is nobody left to tell when that fails.
func removePIDFile(path string) {
	text, err := os.ReadFile(path)
	if err == nil && strings.TrimSpace(string(text)) == ownPID() {
		_ = os.Remove(path)
	}
}

func ownPID() string { return strconv.Itoa(os.Getpid()) }
