package clients

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A library is a client library and the program that runs the course with it.
type library struct {
	name string
	// find returns the command line of the program. The error says what has to
	// be installed.
	find func(t *testing.T) (argv []string, missing error)
	// protos are the protocols that it speaks.
	protos []int
	// reconnects reports whether it subscribes again by itself when its
	// connection was closed.
	reconnects func(proto int, a access) bool
	// access are the ways in that it has besides the open one.
	access []access
	order  order

	acks  bool // it shows the acks and their counts
	shard bool // it has shard channels
	ping  bool // it has PING on a subscribed connection

	// leavesUponMessage says that the program can unsubscribe from weather only
	// when a message arrives there.
	leavesUponMessage bool
}

// An order is what the library keeps of the order in which the server sends.
type order int

const (
	inOrder   order = iota // all of it
	byKind                 // the kinds of messages come separately
	byChannel              // the channels and patterns come separately
)

func always(int, access) bool { return true }

func never(int, access) bool { return false }

func withRESP3(proto int, _ access) bool { return proto == 3 }

// withoutPassword is for a library that takes itself to be still subscribed
// when it should authenticate anew.
func withoutPassword(_ int, a access) bool { return a.password == "" }

var everyAccess = []access{withPassword, withUser, withTLS}

var libraries = []library{
	{
		name: "go-redis", find: goProgram("goredis"), protos: []int{2, 3}, reconnects: always, access: everyAccess,
		acks: true, shard: true, ping: true,
	}, {
		name: "rueidis", find: goProgram("rueidis"), protos: []int{2, 3}, reconnects: withRESP3, access: everyAccess,
		order: byChannel, acks: true, shard: true, ping: true,
	}, {
		name: "redigo", find: goProgram("redigo"), protos: []int{2}, reconnects: never, access: everyAccess,
		acks: true, ping: true,
	}, {
		name: "ioredis5", find: nodeProgram("ioredis.js", "ioredis5"), protos: []int{2}, reconnects: always, access: everyAccess,
		acks: true, shard: true, ping: true,
	}, {
		name: "ioredis6", find: nodeProgram("ioredis.js", "ioredis6"), protos: []int{2, 3}, reconnects: always, access: everyAccess,
		acks: true, shard: true, ping: true,
	}, {
		name: "node-redis5", find: nodeProgram("redis.js", "redis5"), protos: []int{2, 3}, reconnects: always, access: everyAccess,
		shard: true, ping: true,
	}, {
		name: "node-redis6", find: nodeProgram("redis.js", "redis6"), protos: []int{2, 3}, reconnects: always, access: everyAccess,
		shard: true, ping: true,
	}, {
		name: "redis-py", find: pythonProgram, protos: []int{2}, reconnects: always, access: everyAccess,
		acks: true, ping: true,
	}, {
		name: "redis-rb", find: script("redis_rb.rb", "ruby-redis", "ruby", "-e", `require "redis"`), protos: []int{2}, reconnects: never, access: everyAccess,
		acks: true, ping: true,
	}, {
		name: "phpredis", find: phpProgram("phpredis.php"), protos: []int{2}, reconnects: never, access: everyAccess,
		order: byKind, leavesUponMessage: true,
	}, {
		name: "perl-redis", find: script("redis_perl.pl", "libredis-perl libio-socket-ssl-perl", "perl", "-MRedis", "-MIO::Socket::SSL", "-e", "1"), protos: []int{2}, reconnects: withoutPassword, access: everyAccess,
	}, {
		// Debian's is built without TLS.
		name: "hiredis", find: hiredisProgram, protos: []int{2}, reconnects: never, access: []access{withPassword, withUser},
		acks: true, shard: true, ping: true,
	},
}

// programs returns the path of a file under programs.
func programs(t *testing.T, elems ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"programs"}, elems...)...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// aptGet is the error of a library that Debian's packages would bring.
func aptGet(packages string, err error) error {
	return fmt.Errorf("apt-get install %s (%w)", packages, err)
}

// script returns the find of a program for an interpreter, which has what the
// program needs when it succeeds with the probe.
func script(file, packages, interpreter string, probe ...string) func(*testing.T) ([]string, error) {
	return func(t *testing.T) ([]string, error) {
		if out, err := exec.Command(interpreter, probe...).CombinedOutput(); err != nil {
			return nil, aptGet(packages, fmt.Errorf("%w: %s", err, out))
		}
		return []string{interpreter, programs(t, file)}, nil
	}
}

func phpProgram(file string) func(*testing.T) ([]string, error) {
	return script(file, "php-cli php-redis", "php", "-r", `exit(extension_loaded("redis") ? 0 : 1);`)
}

// pythonProgram finds the Python that has redis-py, which need not be the first
// on the PATH.
func pythonProgram(t *testing.T) (argv []string, missing error) {
	for _, interpreter := range []string{"python3", "/usr/bin/python3"} {
		argv, missing = script("redis_py.py", "python3-redis", interpreter, "-c", "import redis")(t)
		if missing == nil {
			break
		}
	}
	return argv, missing
}

// nodeProgram returns the find of a program for node, which needs the module
// that is its first argument, and those that the program itself names.
func nodeProgram(file, module string, args ...string) func(*testing.T) ([]string, error) {
	return func(t *testing.T) ([]string, error) {
		dir := programs(t, "node")
		// npm writes this file when it is through.
		if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err != nil {
			return nil, fmt.Errorf("make clients-install (%w)", err)
		}
		if _, err := exec.LookPath("node"); err != nil {
			return nil, fmt.Errorf("node 20.15 or newer (%w)", err)
		}
		return append([]string{"node", filepath.Join(dir, file), module}, args...), nil
	}
}

func hiredisProgram(t *testing.T) ([]string, error) {
	const packages = "gcc libc6-dev libhiredis-dev"
	probe := exec.Command("gcc", "-E", "-x", "c", "-include", "hiredis/hiredis.h", "-o", os.DevNull, os.DevNull)
	if out, err := probe.CombinedOutput(); err != nil {
		return nil, aptGet(packages, fmt.Errorf("%w: %s", err, out))
	}
	path := filepath.Join(t.TempDir(), "hiredis")
	build := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", path, programs(t, "hiredis.c"), "-lhiredis")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return []string{path}, nil
}

// builtGo are the Go programs, which stand in a module of their own, once they
// are built.
var builtGo struct {
	sync.Mutex
	dir string
}

func goProgram(name string) func(*testing.T) ([]string, error) {
	return func(t *testing.T) ([]string, error) {
		builtGo.Lock()
		defer builtGo.Unlock()
		if builtGo.dir == "" {
			dir := filepath.Join(binaryDir, "go")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			build := exec.Command("go", "build", "-o", dir, "./...")
			build.Dir = programs(t, "go")
			build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
			out, err := build.CombinedOutput()
			if bytes.Contains(out, []byte("GOPROXY=off")) {
				return nil, fmt.Errorf("make clients-install (%s)", bytes.TrimSpace(out))
			}
			if err != nil {
				t.Fatalf("build: %v\n%s", err, out)
			}
			builtGo.dir = dir
		}
		return []string{filepath.Join(builtGo.dir, name)}, nil
	}
}

// mustFind returns the command line of a program. Without what it needs the
// test ends, as harness.Program has it: it is skipped, and fails where CI is
// set.
func mustFind(t *testing.T, name string, find func(t *testing.T) ([]string, error)) []string {
	t.Helper()
	argv, missing := find(t)
	if missing == nil {
		return argv
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed: %v", name, missing)
	}
	t.Skipf("optional: %s is not installed: %v", name, missing)
	return nil
}

// run runs the course against the server.
func (c course) run(t *testing.T, argv []string, e entrance) {
	t.Helper()
	printed, said := runProgram(t, argv, e, c.proto, "BROKER_STEPS="+c.steps())
	c.check(t, printed)
	if t.Failed() {
		t.Logf("it printed\n%s%s", shortened(printed), said)
	}
}

// runProgram runs a program against the server and returns what it printed and
// what it said on standard error.
func runProgram(t *testing.T, argv []string, e entrance, proto int, env ...string) (printed, said string) {
	t.Helper()
	cmd := exec.CommandContext(patient(t), argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), env...),
		"BROKER_HOST=127.0.0.1", "BROKER_PORT="+e.port, fmt.Sprint("BROKER_PROTO=", proto),
		"BROKER_USER="+e.user, "BROKER_PASSWORD="+e.password, "BROKER_CA="+e.ca)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// shortened leaves out the lines of the 200 numbers but for the first.
func shortened(printed string) string {
	var b strings.Builder
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "message weather ") && len(line) <= len("message weather 3/00000000\n") &&
			line != fmt.Sprintf("message weather %s\n", digest("0")) {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// TestLibraries runs the course with every library, protocol and way in.
func TestLibraries(t *testing.T) {
	for _, lib := range libraries {
		t.Run(lib.name, func(t *testing.T) {
			argv := mustFind(t, lib.name, lib.find)
			for _, s := range []server{redisServer, brokerBinary} {
				for _, a := range append([]access{open}, lib.access...) {
					for _, proto := range lib.protos {
						t.Run(fmt.Sprintf("%s/%s/resp=%d", s.name, a.name, proto), func(t *testing.T) {
							t.Parallel()
							course{lib: lib, proto: proto, access: a}.run(t, argv, a.enter(t, s))
						})
					}
				}
			}
		})
	}
}
