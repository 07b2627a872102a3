package clients

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"broker/integration/harness"
)

// binaryDir is where the broker's program is built.
var binaryDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "broker-clients-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binaryDir = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// built is the path of the broker's program once it is built.
var built struct {
	sync.Mutex
	path string
}

// binary returns the path of the broker's program, built once for all tests.
func binary(tb testing.TB) string {
	tb.Helper()
	built.Lock()
	defer built.Unlock()
	if built.path == "" {
		built.path = harness.BuildBinary(tb, binaryDir)
	}
	return built.path
}

// A server is one kind of target that can be started, and started again at the
// address that it had.
type server struct {
	name  string
	start func(tb testing.TB, addr string) *harness.Target
}

// onEach runs the test against redis-server and against the broker.
func onEach(t *testing.T, test func(*testing.T, server)) {
	servers := []server{{"redis-server", func(tb testing.TB, addr string) *harness.Target {
		return harness.StartRedisAt(tb, addr)
	}}}
	for _, v := range harness.Variants(2) {
		servers = append(servers, server{v.String(), func(tb testing.TB, addr string) *harness.Target {
			return v.StartAt(tb, addr)
		}})
	}
	servers = append(servers, server{"binary", func(tb testing.TB, addr string) *harness.Target {
		return harness.StartBinaryAt(tb, binary(tb), addr)
	}})
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) { test(t, s) })
	}
}
