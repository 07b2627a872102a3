package packaging

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A release for this machine, with a package that holds together.
func TestRelease_DebianPackage(t *testing.T) {
	dpkg := need(t, "dpkg-deb", "dpkg")
	dist := t.TempDir()
	arch := strings.TrimSpace(run(t, nil, "go", "env", "GOARCH"))
	run(t, []string{"DIST=" + dist, "VERSION=1.2.3"}, "packaging/release.sh", arch)
	release := filepath.Join(dist, "release")
	base := "broker-1.2.3-linux-" + arch
	deb := filepath.Join(release, "broker_1.2.3_"+arch+".deb")

	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = release
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
	for field, want := range map[string]string{"Package": "broker", "Version": "1.2.3", "Architecture": arch} {
		if got := strings.TrimSpace(run(t, nil, dpkg, "--field", deb, field)); got != want {
			t.Errorf("%s %q, want %q", field, got, want)
		}
	}
	if got := run(t, nil, dpkg, "--info", deb, "conffiles"); got != "/etc/broker/broker.conf\n" {
		t.Errorf("conffiles %q", got)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		path := filepath.Join(dist, script)
		if err := os.WriteFile(path, []byte(run(t, nil, dpkg, "--info", deb, script)), 0o755); err != nil {
			t.Fatal(err)
		}
		run(t, nil, "sh", "-n", path)
	}
	files := filepath.Join(dist, "root")
	run(t, nil, dpkg, "--extract", deb, files)
	installed := filepath.Join(files, "usr/bin/broker")
	if got := run(t, nil, installed, "version"); got != "broker 1.2.3\n" {
		t.Errorf("version %q", got)
	}
	if got := run(t, nil, installed, "check", filepath.Join(files, "etc/broker/broker.conf"), "--supervised", "systemd"); got != "ok\n" {
		t.Errorf("the configuration of the package: %q", got)
	}
	for _, name := range []string{"usr/lib/systemd/system/broker.service", "usr/share/doc/broker/copyright",
		"usr/share/man/man1/broker.1.gz", "usr/share/bash-completion/completions/broker", "usr/share/zsh/vendor-completions/_broker", "usr/share/doc/broker/metrics.md"} {
		if _, err := os.Stat(filepath.Join(files, name)); err != nil {
			t.Error(err)
		}
	}

	archive := run(t, nil, "tar", "--list", "--file", filepath.Join(release, base+".tar.gz"))
	for _, name := range []string{"broker", "broker.conf", "broker.service", "LICENSE", "README.md", "broker.1.gz", "broker.bash", "docs/metrics.md"} {
		if !strings.Contains(archive, base+"/"+name+"\n") {
			t.Errorf("the archive has no %s", name)
		}
	}

	text, err := os.ReadFile(filepath.Join(release, base+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bill struct{ Components []struct{ Name string } }
	if err := json.Unmarshal(text, &bill); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range bill.Components {
		names[c.Name] = true
	}
	// What the program was built from, by Go's own account.
	for _, m := range regexp.MustCompile(`(?m)^\tdep\t(\S+)`).FindAllStringSubmatch(run(t, nil, "go", "version", "-m", installed), -1) {
		if !names[m[1]] {
			t.Errorf("%s is not in the bill of materials", m[1])
		}
		delete(names, m[1])
	}
	delete(names, "std")
	if len(names) != 0 {
		t.Errorf("the bill of materials names %v, which are not in the program", names)
	}
	if len(bill.Components) > maxModules+1 {
		t.Errorf("%d modules are linked in, want at most %d", len(bill.Components)-1, maxModules)
	}
}

// maxModules bounds what others' code is in the program.
const maxModules = 15
