package reliability

import (
	"os"
	"testing"
	"time"

	"broker/integration/harness"
)

// Full reports whether the checkers are to run in full, which takes minutes
// each, instead of seconds.
func Full() bool { return os.Getenv("RELIABILITY") == "full" }

// Size returns how many of something a checker takes: full in the full form,
// short in the short one, and a quarter of either where the race detector
// makes each of them dear, but at least one.
func Size(short, full int) int {
	n := short
	if Full() {
		n = full
	}
	if harness.RaceDetector {
		n = max(1, n/4)
	}
	return n
}

// Period returns how long a checker that runs by the clock lasts. The
// environment variable named by variable, "30m", overrides both forms.
func Period(tb testing.TB, variable string, short, full time.Duration) time.Duration {
	tb.Helper()
	if s := os.Getenv(variable); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			tb.Fatalf("%s=%q is no duration", variable, s)
		}
		return d
	}
	if Full() {
		return full
	}
	return short
}
