package packaging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxExposure is what systemd-analyze may give the unit, in tenths: from 0,
// locked away, to 100. Services that take connections from everywhere do not
// get below 10.
const maxExposure = "15"

func TestUnit_IsValidAndLockedAway(t *testing.T) {
	analyze := need(t, "systemd-analyze", "systemd")
	text, err := os.ReadFile(filepath.Join(root, "packaging/broker.service"))
	if err != nil {
		t.Fatal(err)
	}
	// What it starts has to exist.
	unit := filepath.Join(t.TempDir(), "broker.service")
	changed := strings.NewReplacer("/usr/bin/broker", static(t), "file:///usr/share/doc/broker/operating.md", "https://broker.invalid").Replace(string(text))
	if err := os.WriteFile(unit, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, nil, analyze, "verify", "--recursive-errors=no", "--man=no", unit)
	run(t, nil, analyze, "security", "--offline=true", "--no-pager", "--threshold="+maxExposure, unit)
	for _, want := range []string{"Type=notify\n", "--supervised systemd\n", "User=broker\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q", want)
		}
	}
}
