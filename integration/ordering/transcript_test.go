package ordering

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"broker/integration/harness"
)

// scriptDir holds the conversations that are compared with redis-server; here
// the broker is compared with itself.
const scriptDir = "../differential/testdata"

// TestTranscripts_SameForEveryShardCountAndDriver plays every script on every
// variant: the number of shards and the driver are nobody's business.
func TestTranscripts_SameForEveryShardCountAndDriver(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scriptDir, "*.script"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var scripts []harness.Script
	for _, f := range files {
		s, err := harness.ParseScripts(os.DirFS(scriptDir), filepath.Base(f))
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, s...)
	}
	var first []string
	for i, v := range harness.Variants(1, 2, 8) {
		target := v.Start(t)
		for j, s := range scripts {
			got := transcript(t, target, s, 2+j%2)
			if i == 0 {
				first = append(first, got)
				continue
			}
			if got != first[j] {
				a, b := strings.Split(first[j], "\n"), strings.Split(got, "\n")
				at := 0
				for at < min(len(a), len(b)) && a[at] == b[at] {
					at++
				}
				lo := max(0, at-3)
				t.Errorf("%s\n%v: %q\n%v: %q", s.Name,
					harness.Variants(1)[0], a[lo:min(len(a), at+3)], v, b[lo:min(len(b), at+3)])
			}
		}
		target.Stop()
	}
}

// transcript plays a script and returns everything that happened.
func transcript(t *testing.T, target *harness.Target, s harness.Script, proto int) string {
	t.Helper()
	switch {
	case strings.HasPrefix(s.Name, "RESP2:"):
		proto = 2
	case strings.HasPrefix(s.Name, "RESP3:"):
		proto = 3
	}
	p := harness.NewPlayer(target, proto)
	defer p.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "== %s (RESP%d)\n", s.Name, proto)
	for _, step := range s.Steps {
		o, err := p.Play(step)
		if err != nil {
			t.Fatalf("%s, %s, line %d: %s: %v", target.Name, s.Name, step.Line, step.Source, err)
		}
		for conn, got := range o.Got {
			o.Got[conn] = harness.Normal(step, conn == step.Conn, got)
		}
		b.WriteString(o.String())
	}
	return b.String()
}
