package clients

import (
	"testing"

	"go.uber.org/goleak"

	"broker/integration/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) { test(t, s) })
	}
}
