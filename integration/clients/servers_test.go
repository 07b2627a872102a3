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
// address that it had; "" means any.
type server struct {
	name  string
	start func(tb testing.TB, addr string, flags ...string) *harness.Target
}

var (
	redisServer  = server{"redis-server", harness.StartRedisAt}
	brokerBinary = server{"binary", func(tb testing.TB, addr string, flags ...string) *harness.Target {
		return harness.StartBinaryAt(tb, binary(tb), addr, flags...)
	}}
)

// onEach runs the test against redis-server and against the broker.
func onEach(t *testing.T, test func(*testing.T, server)) {
	servers := []server{redisServer}
	for _, v := range harness.Variants(2) {
		servers = append(servers, server{v.String(), v.StartAt})
	}
	for _, s := range append(servers, brokerBinary) {
		t.Run(s.name, func(t *testing.T) { test(t, s) })
	}
}
