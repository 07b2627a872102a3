package harness

import (
	"os"
	"os/exec"
	"testing"
)

// Program returns the path of one of Redis's own programs. Without it a test
// that compares with Redis has nothing to say: it is skipped, which the README
// announces, but where CI is set it fails, so that a pipeline cannot lose its
// comparisons without a word.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	const remedy = "%s is not installed (apt-get install redis-server redis-tools)"
	if os.Getenv("CI") != "" {
		tb.Fatalf(remedy, name)
	}
	tb.Skipf("optional: "+remedy, name)
	return ""
}
