package suites

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goRedisScope are the files of go-redis's suite that the list covers whole, or
// where only some containers are of interest, what the names of these begin
// with.
var goRedisScope = map[string]string{
	"pubsub_test.go":       "",
	"redis_test.go":        "",
	"pipeline_test.go":     "",
	"monitor_test.go":      "",
	"acl_commands_test.go": "",
	"commands_test.go":     "Commands server ",
}

// A spec is one test of a report that ginkgo writes.
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeText            string
	LeafNodeLocation        struct{ FileName string }
	State                   string
	Failure                 struct{ Message string }
}

func (s spec) name() string {
	return strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
}

// inScope reports whether the list has to name the spec. Suite nodes have no
// name.
func (s spec) inScope() bool {
	prefix, ok := goRedisScope[filepath.Base(s.LeafNodeLocation.FileName)]
	return ok && s.LeafNodeText != "" && strings.HasPrefix(s.name(), prefix)
}

// runGoRedis runs the specs whose full name the pattern matches against the
// server at addr, and returns what became of all specs of the suite.
func runGoRedis(t *testing.T, program, addr, pattern string) []spec {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	dir := t.TempDir()
	// This is the one way to have the suite use an address of our choice.
	endpoints, report := filepath.Join(dir, "endpoints.json"), filepath.Join(dir, "report.json")
	config := fmt.Sprintf(`{"broker": {"endpoints": ["redis://%s"], "raw_endpoints": [{"dns_name": %q, "port": %s}]}}`, addr, host, port)
	if err := os.WriteFile(endpoints, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "^TestGinkgoSuite$", "-test.timeout", patience.String(),
		"-ginkgo.focus", pattern, "-ginkgo.json-report", report)
	cmd.Env = append(os.Environ(), "RE_CLUSTER=true", "REDIS_ENDPOINTS_CONFIG_PATH="+endpoints, "REDIS_VERSION=8.0")
	out, failed := cmd.CombinedOutput()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("no report: %v, %v\n%s", err, failed, out)
	}
	var reports []struct{ SpecReports []spec }
	if err := json.Unmarshal(text, &reports); err != nil {
		t.Fatal(err)
	}
	var all []spec
	for _, r := range reports {
		all = append(all, r.SpecReports...)
	}
	return all
}

// TestGoRedis runs go-redis's specs of pub/sub, the connection and the server.
func TestGoRedis(t *testing.T) {
	needSuites(t)
	dir, version := module(t, "github.com/redis/go-redis/v9")
	l := readList(t, "go-redis.txt")
	var names []string
	for name := range l.run {
		names = append(names, regexp.QuoteMeta(name))
	}
	// A full name begins with the suite's, "go-redis ".
	pattern := "^go-redis (" + strings.Join(names, "|") + ")$"
	passed, listed := 0, map[string]bool{}
	for _, s := range runGoRedis(t, buildTests(t, dir), startBroker(t).Addr, pattern) {
		name := s.name()
		if !s.inScope() {
			if s.State != "skipped" && s.State != "passed" {
				t.Errorf("%s %s: %s", name, s.State, s.Failure.Message)
			}
			continue
		}
		listed[name] = true
		switch {
		case l.skip[name] != "":
		case !l.run[name]:
			t.Errorf("the list does not name %q", name)
		case s.State != "passed":
			t.Errorf("%s %s: %s", name, s.State, s.Failure.Message)
		default:
			passed++
		}
	}
	for name := range l.run {
		if !listed[name] {
			t.Errorf("the suite has no %q any more", name)
		}
	}
	for name := range l.skip {
		if !listed[name] {
			t.Errorf("the suite has no %q any more", name)
		}
	}
	t.Logf("go-redis %s: %d of %d specs passed, %d are not for the broker", version, passed, len(l.run), len(l.skip))
}
