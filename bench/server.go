package main

import (
	"path/filepath"
	"strconv"
)

// A program is a kind of server the runner knows how to start.
type program struct {
	name       string // in the report and on the command line
	executable string // looked up in PATH
	proto      protocol
	args       func(port int) []string
}

// redisArgs turns persistence and the output buffer limits off, so that a
// server is measured on delivering and not on cutting subscribers off, and
// keeps it on loopback.
func redisArgs(extra ...string) func(int) []string {
	return func(port int) []string {
		return append([]string{
			"--port", strconv.Itoa(port), "--bind", "127.0.0.1",
			"--save", "", "--appendonly", "no",
			"--client-output-buffer-limit", "pubsub 0 0 0",
			"--tcp-backlog", "4096",
		}, extra...)
	}
}

// brokerArgs returns the arguments of this project's broker with extra ones of
// the command line appended.
func brokerArgs(extra []string) func(int) []string {
	return func(port int) []string {
		return append([]string{
			"--port", strconv.Itoa(port),
			"--client-output-buffer-limit", "pubsub 0 0 0",
		}, extra...)
	}
}

// programs returns the peers in the order they are reported.
func programs() []program {
	return []program{
		{"redis", "redis-server", resp{}, redisArgs()},
		{"valkey", "valkey-server", resp{}, redisArgs()},
		{"keydb", "keydb-server", resp{}, redisArgs("--server-threads", "1")},
		{"dragonfly", "dragonfly", resp{}, func(port int) []string {
			return []string{"--port=" + strconv.Itoa(port), "--bind=127.0.0.1", "--proactor_threads=1", "--dbfilename="}
		}},
		{"nats", "nats-server", nats{}, func(port int) []string {
			return []string{"-a", "127.0.0.1", "-p", strconv.Itoa(port)}
		}},
	}
}

// A contender is a server that takes part in a comparison.
type contender struct {
	Name    string   `json:"name"`
	Path    string   `json:"path"`
	Args    []string `json:"args"` // with port 0
	Version string   `json:"version"`

	proto protocol
	args  func(port int) []string
}

// newContender returns the server at path under name. A path whose last
// element is a known peer's executable is started as that peer and not as the
// broker: comparing a peer with itself shows what the machine's noise alone
// does to a ratio.
func newContender(name, path string, extra []string) contender {
	c := contender{Name: name, Path: path, proto: resp{}, args: brokerArgs(extra)}
	for _, p := range programs() {
		if filepath.Base(path) == p.executable {
			c.proto, c.args = p.proto, p.args
		}
	}
	c.Args = c.args(0)
	return c
}
