package differential

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"broker/integration/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loadScripts reads all scripts of testdata, by file.
func loadScripts(t *testing.T) map[string][]harness.Script {
	t.Helper()
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	scripts := map[string][]harness.Script{}
	for _, f := range files {
		s, err := harness.ParseScripts(os.DirFS("testdata"), filepath.Base(f))
		if err != nil {
			t.Fatal(err)
		}
		scripts[strings.TrimSuffix(filepath.Base(f), ".script")] = s
	}
	return scripts
}

// protocols returns the RESP versions a script is for: both, unless its name
// says otherwise.
func protocols(s harness.Script) []int {
	switch {
	case strings.HasPrefix(s.Name, "RESP2:"):
		return []int{2}
	case strings.HasPrefix(s.Name, "RESP3:"):
		return []int{3}
	}
	return []int{2, 3}
}

// compareAll plays all scripts against redis-server and against other, each
// file on a pair of servers of its own, and reports where they differ. adapt
// rewrites redis-server's normalised answers.
func compareAll(t *testing.T, other func(*testing.T) *harness.Target, adapt func(source string, b []byte) []byte) {
	var files sync.WaitGroup
	for file, scripts := range loadScripts(t) {
		files.Go(func() {
			t.Run(file, func(t *testing.T) {
				redis, other := harness.StartRedis(t), other(t)
				for _, s := range scripts {
					for _, proto := range protocols(s) {
						t.Run(fmt.Sprintf("%s/resp=%d", s.Name, proto), func(t *testing.T) {
							compare(t, redis, other, s, proto, adapt)
						})
					}
				}
			})
		})
	}
	files.Wait()
}

// compare plays one script against two servers and stops at the first step
// after which a connection's stream would be out of step.
func compare(t *testing.T, redis, other *harness.Target, s harness.Script, proto int, adapt func(string, []byte) []byte) {
	left, right := harness.NewPlayer(redis, proto), harness.NewPlayer(other, proto)
	defer left.Close()
	defer right.Close()
	for _, step := range s.Steps {
		want, err := left.Play(step)
		if err != nil {
			t.Fatalf("line %d: %s\n%s: %v", step.Line, step.Source, redis.Name, err)
		}
		got, err := right.Play(step)
		if err != nil {
			t.Fatalf("line %d: %s\n%s: %v", step.Line, step.Source, other.Name, err)
		}
		if diff := differ(want, got, adapt); diff != "" {
			t.Errorf("line %d: %.200s\n%s", step.Line, step.Source, diff)
		}
	}
}

// differ says where two outcomes of a step differ once both are normalised; ""
// when they agree.
func differ(want, got harness.Outcome, adapt func(string, []byte) []byte) string {
	var b strings.Builder
	names := map[string]bool{}
	for name := range maps.Keys(want.Got) {
		names[name] = true
	}
	for name := range maps.Keys(got.Got) {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		own := name == want.Step.Conn
		w := adapt(want.Step.Source, harness.Normal(want.Step, own, want.Got[name]))
		g := harness.Normal(got.Step, own, got.Got[name])
		if !bytes.Equal(w, g) {
			at := 0
			for at < min(len(w), len(g)) && w[at] == g[at] {
				at++
			}
			lo := max(0, at-60)
			fmt.Fprintf(&b, "    %s: differs at byte %d\n      redis-server %s\n      here         %s\n",
				name, at, harness.Show(w[lo:min(len(w), lo+400)]), harness.Show(g[lo:min(len(g), lo+400)]))
		}
	}
	if !slices.Equal(want.Closed, got.Closed) {
		fmt.Fprintf(&b, "    redis-server closed %v, here closed %v\n", want.Closed, got.Closed)
	}
	return b.String()
}

// TestScripts_RedisAgreesWithItself shows that the scripts have one outcome:
// what differs between two servers is no accident.
func TestScripts_RedisAgreesWithItself(t *testing.T) {
	compareAll(t, func(t *testing.T) *harness.Target { return harness.StartRedis(t) },
		func(_ string, b []byte) []byte { return b })
}
