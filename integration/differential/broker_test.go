package differential

import (
	"fmt"
	"testing"
	"time"

	"broker/integration/harness"
)

// TestScripts plays every script against redis-server and the broker.
func TestScripts(t *testing.T) {
	harness.Program(t, "redis-server") // skips the whole test, unused differences included
	for _, v := range harness.Variants(2) {
		t.Run(v.String(), func(t *testing.T) {
			compareAll(t, func(t *testing.T) *harness.Target { return v.Start(t) }, asBroker)
		})
	}
	if unused := unusedDifferences(); len(unused) > 0 && !t.Failed() {
		t.Errorf("differences that no script shows any more:\n%q", unused)
	}
}

// TestRandom plays random conversations against redis-server and the broker.
func TestRandom(t *testing.T) {
	for _, v := range harness.Variants(1, 3) {
		for _, proto := range []int{2, 3} {
			t.Run(fmt.Sprintf("%v/resp=%d", v, proto), func(t *testing.T) {
				n := playRandom(t, v.Start(t), proto, 250*time.Millisecond, asBroker)
				t.Logf("%d steps", n)
			})
		}
	}
}
