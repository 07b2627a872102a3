package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"broker/integration/harness"
	"broker/internal/config"
	"broker/internal/metrics"
)

// documents returns the text of every document in docs.
func documents(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil || len(names) < 5 {
		t.Fatalf("%q %v", names, err)
	}
	texts := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(text)
	}
	return texts
}

func TestDocs_LinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	for name, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, "docs", m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Every reason why a connection ends is in the table of the operating guide.
func TestDocs_ExplainEveryCloseReason(t *testing.T) {
	text := documents(t)["operating.md"]
	for _, reason := range metrics.CloseReasons() {
		if !strings.Contains(text, "\n| `"+reason+"` | ") {
			t.Errorf("operating.md does not explain %s", reason)
		}
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| .* \\| .* \\|$")
	_, table, _ := strings.Cut(text, "## Why connections are closed")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		if !slices.Contains(metrics.CloseReasons(), m[1]) {
			t.Errorf("operating.md explains %s, which is no reason", m[1])
		}
	}
}

func TestDocs_NameMetricsThatExist(t *testing.T) {
	for name, text := range documents(t) {
		for _, n := range regexp.MustCompile("`(broker|redis)_[a-z_]+[a-z]").FindAllString(text, -1) {
			n = n[1:]
			if slices.Contains([]string{"redis_exporter", "redis_version", "redis_mode", "broker_version", "broker_closed_by"}, n) {
				continue // labels, fields of INFO
			}
			if !exists(n) {
				t.Errorf("%s: there is no metric %s", name, n)
			}
		}
	}
}

// What looks like a parameter in the guides is one.
func TestDocs_NameParametersThatExist(t *testing.T) {
	known := regexp.MustCompile("(?m)^## (.*)$").FindAllStringSubmatch(documents(t)["configuration.md"], -1)
	parameter := func(name string) bool {
		if name == "tls-" { // tls-*
			return true
		}
		cfg := config.Default()
		return len(cfg.Get(name)) > 0 || slices.ContainsFunc(known, func(m []string) bool { return m[1] == name })
	}
	word := regexp.MustCompile("`(?:--)?([a-z]+(?:-[a-z]+)+)\\b")
	for _, name := range []string{"operating.md", "security.md", "migration.md", "metrics.md"} {
		found := word.FindAllStringSubmatch(documents(t)[name], -1)
		for _, m := range found {
			// Values, programs and packages with a dash.
			if slices.Contains([]string{"drop-oldest", "drop-newest", "redis-server", "redis-cli", "systemd-analyze", "redis-adapter", "redis-streams-adapter"}, m[1]) {
				continue
			}
			if !parameter(m[1]) {
				t.Errorf("%s: there is no parameter %s", name, m[1])
			}
		}
	}
}

// The users of the security guide may do what they are for, and no more.
func TestDocs_UsersOfTheSecurityGuide(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^   (user \w+ (?:on|off).*)$`).FindAllStringSubmatch(documents(t)["security.md"], -1)
	if len(lines) != 4 {
		t.Fatalf("%d users, want 4", len(lines))
	}
	file := filepath.Join(t.TempDir(), "broker.conf")
	var conf strings.Builder
	for _, m := range lines {
		conf.WriteString(m[1] + "\n")
	}
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	b := harness.Variant{Shards: 1, IO: "net"}.Start(t, "--include", file)
	for _, tc := range []struct {
		user, password string
		may, maynot    []string
	}{
		{"publisher", "secret1", []string{"PUBLISH orders.new x", "PING", "CLIENT SETNAME me"},
			[]string{"PUBLISH other x", "SUBSCRIBE orders.new", "INFO", "CONFIG GET *"}},
		{"reader", "secret2", []string{"PING", "SUBSCRIBE orders.new"},
			[]string{"SUBSCRIBE other", "PSUBSCRIBE *", "PUBLISH orders.new x", "ACL LIST"}},
		{"monitor", "secret3", []string{"INFO server", "CLIENT LIST", "PING"},
			[]string{"PUBLISH orders.new x", "SUBSCRIBE orders.new", "CLIENT KILL ID 1"}},
	} {
		c := b.Dial(t)
		do := func(command string) harness.Value {
			t.Helper()
			v, err := c.Do(strings.Fields(command)...)
			if err != nil {
				t.Fatalf("%s: %v", command, err)
			}
			return v
		}
		if v := do("PING"); !strings.HasPrefix(v.Text, "NOAUTH") {
			t.Errorf("before AUTH: %v", v)
		}
		if v := do("AUTH " + tc.user + " " + tc.password); v.Text != "OK" {
			t.Fatalf("%s: %v", tc.user, v)
		}
		for _, command := range tc.maynot {
			if v := do(command); v.Type != '-' || !strings.HasPrefix(v.Text, "NOPERM") {
				t.Errorf("%s: %s: %v, want NOPERM", tc.user, command, v)
			}
		}
		for _, command := range tc.may {
			if v := do(command); v.Type == '-' {
				t.Errorf("%s: %s: %v", tc.user, command, v)
			}
		}
	}
	c := b.Dial(t)
	if v, err := c.Do("AUTH", "anything"); err != nil || v.Type != '-' {
		t.Errorf("the default user: %v %v", v, err)
	}
}
