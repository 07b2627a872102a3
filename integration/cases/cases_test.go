package cases

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"broker/integration/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parallel is how many cases run at once. They mostly wait: for silence, for
// timers of the server.
func parallel() int {
	if harness.RaceDetector {
		return 4
	}
	return 12
}

// slowFactor stretches the time limits that the cases name, which were set for
// a machine that does nothing else.
func slowFactor() time.Duration {
	if harness.RaceDetector {
		return 40
	}
	return 10
}

// slots bounds the cases that run at once.
var slots = make(chan struct{}, parallel())

// TestRunner_CasesPassAgainstRedis proves the runner and the data: a plain
// redis-server passes every case that needs nothing more.
func TestRunner_CasesPassAgainstRedis(t *testing.T) {
	var all sync.WaitGroup
	for _, c := range loadCases(t) {
		if len(c.Needs) > 0 {
			continue
		}
		all.Go(func() {
			t.Run(c.ID, func(t *testing.T) {
				slots <- struct{}{}
				defer func() { <-slots }()
				check(t, harness.StartRedis(t), c)
			})
		})
	}
	all.Wait()
}

// check plays a case and then asks whether the server still answers.
func check(t *testing.T, target *harness.Target, c Case) {
	t.Helper()
	r := &run{addr: target.Addr, tls: target.TLS, limit: harness.Patience, slowFactor: slowFactor()}
	if err := r.play(c); err != nil {
		t.Errorf("%s [%s] %s\n   %s\n   %s: %v", c.ID, c.Kind, c.Title, c.Note, target.Name, err)
	}
	if err := alive(target); err != nil {
		t.Errorf("%s: %s does not answer any more: %v", c.ID, target.Name, err)
	}
}

// alive waits until a new connection is answered. A server that is still busy
// tearing down the connections of a case may refuse one for its number.
func alive(target *harness.Target) error {
	deadline := time.Now().Add(harness.Patience)
	for {
		c, err := harness.DialTLS(target.Addr, 0, target.TLS)
		if err != nil {
			return err
		}
		v, err := c.Do("PING")
		c.Close()
		if err == nil && v.Text == "PONG" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("PING: %v %w", v, err)
		}
	}
}

func TestTables_NameCasesOnce(t *testing.T) {
	known := map[string]Case{}
	for _, c := range loadCases(t) {
		if _, twice := known[c.ID]; twice {
			t.Errorf("two cases %s", c.ID)
		}
		known[c.ID] = c
		for _, need := range c.Needs {
			if !needsMet[need] && notYet[c.ID] == "" {
				t.Errorf("%s needs %s and stands not in notYet", c.ID, need)
			}
		}
		for i, s := range append(c.Steps, c.Cleanup...) {
			if reflect.ValueOf(s).IsZero() {
				t.Errorf("%s: step %d is empty", c.ID, i)
			}
		}
	}
	for id, needs := range notYet {
		if _, ok := known[id]; !ok {
			t.Errorf("notYet names %s, which is no case", id)
		}
		if needs == "" {
			t.Errorf("notYet gives no reason for %s", id)
		}
	}
}
