package packaging

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"broker/internal/metrics"
)

// A panel is as much of Grafana's as is checked.
type panel struct {
	ID          int
	Title, Type string
	Description string
	GridPos     struct{ H, W, X, Y int }
	Datasource  struct{ UID string }
	Targets     []struct{ Expr, LegendFormat, RefID string }
	Panels      []panel
}

func readDashboard(t *testing.T) []panel {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "packaging/monitoring/dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		UID, Title    string
		SchemaVersion int
		Panels        []panel
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	if dashboard.UID == "" || dashboard.Title == "" || dashboard.SchemaVersion < 36 || len(dashboard.Panels) == 0 {
		t.Fatalf("not a dashboard: %+v", dashboard)
	}
	return dashboard.Panels
}

// metricName finds what a query takes from the broker.
var metricName = regexp.MustCompile(`\b(redis|broker|go|process)_[a-z0-9_]+`)

// exists reports whether the broker exposes a series of that name.
func exists(name string) bool {
	if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
		return slices.Contains([]string{"go_goroutines", "process_cpu_seconds_total", "process_open_fds", "process_max_fds", "process_resident_memory_bytes", "go_gc_duration_seconds"}, name)
	}
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && slices.Contains(metrics.Names(), base) {
			return true
		}
	}
	return false
}

func TestDashboard_AsksForWhatExists(t *testing.T) {
	asked := map[string]bool{}
	for _, p := range readDashboard(t) {
		for _, target := range p.Targets {
			names := metricName.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s: %q asks for nothing", p.Title, target.Expr)
			}
			for _, n := range names {
				asked[n] = true
				if !exists(n) {
					t.Errorf("%s: there is no metric %s", p.Title, n)
				}
			}
			if strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") {
				t.Errorf("%s: %q is not balanced", p.Title, target.Expr)
			}
		}
	}
	for _, n := range []string{"broker_messages_published_total", "broker_messages_delivered_total", "broker_connections_closed_total", "broker_queued_bytes", "broker_message_receivers_bucket"} {
		if !asked[n] {
			t.Errorf("no panel shows %s", n)
		}
	}
}

func TestDashboard_PanelsDoNotOverlap(t *testing.T) {
	panels := readDashboard(t)
	ids := map[int]bool{}
	for i, p := range panels {
		g := p.GridPos
		if ids[p.ID] || p.Title == "" || g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("panel %d %q at %+v", p.ID, p.Title, g)
		}
		ids[p.ID] = true
		if p.Type != "row" && (len(p.Targets) == 0 || p.Datasource.UID != "${datasource}") {
			t.Errorf("panel %q asks nobody", p.Title)
		}
		for _, q := range panels[:i] {
			h := q.GridPos
			if g.X < h.X+h.W && h.X < g.X+g.W && g.Y < h.Y+h.H && h.Y < g.Y+g.H {
				t.Errorf("panels %q and %q overlap", p.Title, q.Title)
			}
		}
	}
}

func TestAlerts_AskForWhatExists(t *testing.T) {
	for _, name := range []string{"packaging/monitoring/alerts.yml", "docs/metrics.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		_, alerts, ok := strings.Cut(string(text), "## Alerts")
		if !ok {
			alerts = string(text)
		}
		found := metricName.FindAllString(alerts, -1)
		if len(found) < 5 {
			t.Errorf("%s asks for %q only", name, found)
		}
		for _, n := range found {
			if !exists(n) {
				t.Errorf("%s: there is no metric %s", name, n)
			}
		}
	}
}

// The files of compose.yaml are YAML and refer to files that exist.
func TestCompose_RefersToWhatExists(t *testing.T) {
	python := need(t, "/usr/bin/python3", "python3-yaml") // Debian's, whatever comes first in the PATH
	const program = `
import glob, os, sys, yaml
compose = yaml.safe_load(open("compose.yaml"))
services = compose["services"]
assert set(services) == {"broker", "prometheus", "grafana"}, services
assert "profiles" not in services["broker"]
for name in ("prometheus", "grafana"):
    assert services[name]["profiles"] == ["monitoring"], name
broker = services["broker"]
assert broker["read_only"] and broker["cap_drop"] == ["ALL"]
for name, service in services.items():
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        if source.startswith("."):
            assert os.path.isfile(source), source
        else:
            assert source in compose["volumes"], source
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:"), port
prometheus = yaml.safe_load(open("packaging/monitoring/prometheus.yml"))
target = prometheus["scrape_configs"][0]["static_configs"][0]["targets"][0]
assert target == "broker:" + broker["command"][1].split(":")[1], target
for name in prometheus["rule_files"]:
    assert any(v.endswith("/etc/prometheus/%s:ro" % name) for v in services["prometheus"]["volumes"]), name
for name in glob.glob("packaging/monitoring/*.yml") + ["packaging/nfpm.yaml"]:
    yaml.safe_load(open(name))
print("ok")
`
	if got := run(t, nil, python, "-c", program); got != "ok\n" {
		t.Error(got)
	}
}
