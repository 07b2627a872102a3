package packaging

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"broker/integration/harness"
)

// maxImageBytes is what the image may take, unpacked.
const maxImageBytes = 20_000_000

const imageName = "broker-test"

// buildImage builds the last stage of the Dockerfile around the program and
// returns a function that runs buildah.
func buildImage(t *testing.T) func(args ...string) string {
	t.Helper()
	path := need(t, "buildah", "buildah")
	need(t, "setpriv", "util-linux") // chroot isolation uses the same calls
	dist := t.TempDir()
	bin := filepath.Join(dist, "out", "usr", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(static(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "broker"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"redis-server", "redis-cli"} {
		if err := os.Symlink("broker", filepath.Join(bin, link)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, []string{"IMAGE=" + imageName}, "packaging/image.sh", dist)
	buildah := func(args ...string) string {
		t.Helper()
		return run(t, nil, path, append([]string{"--storage-driver", "vfs"}, args...)...)
	}
	t.Cleanup(func() { exec.Command(path, "--storage-driver", "vfs", "rmi", "--force", imageName).Run() })
	return buildah
}

func TestImage_SaysHowToRunIt(t *testing.T) {
	buildah := buildImage(t)
	var image struct {
		Docker struct {
			Config struct {
				User, StopSignal string
				Entrypoint, Env  []string
				ExposedPorts     map[string]struct{}
				Healthcheck      struct{ Test []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(buildah("inspect", "--type", "image", imageName)), &image); err != nil {
		t.Fatal(err)
	}
	c := image.Docker.Config
	if c.User != "65532:65532" || c.StopSignal != "SIGTERM" ||
		!reflect.DeepEqual(c.Entrypoint, []string{"/usr/bin/broker"}) ||
		!reflect.DeepEqual(c.Healthcheck.Test, []string{"CMD", "/usr/bin/broker", "ping"}) {
		t.Errorf("%+v", c)
	}
	if _, ok := c.ExposedPorts["6379/tcp"]; !ok {
		t.Errorf("ports %v", c.ExposedPorts)
	}

	container := strings.TrimSpace(buildah("from", "--pull-never", imageName))
	defer buildah("rm", container)
	mount := strings.TrimSpace(buildah("mount", container))
	var size int64
	var files []string
	err := filepath.WalkDir(mount, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		size += info.Size()
		files = append(files, strings.TrimPrefix(path, mount))
		return err
	})
	if want := []string{"/usr/bin/broker", "/usr/bin/redis-cli", "/usr/bin/redis-server"}; err != nil || !reflect.DeepEqual(files, want) {
		t.Errorf("the image holds %q (%v), want %q", files, err, want)
	}
	if size > maxImageBytes {
		t.Errorf("the image has %d bytes, want at most %d", size, maxImageBytes)
	}
	t.Logf("%d bytes", size)
}

func TestImage_AnswersPINGAsItsUser(t *testing.T) {
	buildah := buildImage(t)
	container := strings.TrimSpace(buildah("from", "--pull-never", imageName))
	defer buildah("rm", container)
	inside := func(args ...string) []string {
		return append([]string{"run", "--isolation", "chroot", "--network", "host", "--user", "65532", container, "--"}, args...)
	}
	// As a command made for a Redis image says it.
	port := freePort(t)
	server := exec.Command(need(t, "buildah", "buildah"), append([]string{"--storage-driver", "vfs"},
		inside("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")...)...)
	var output strings.Builder
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		server.Wait()
		close(ended)
	}()
	c := dialWhenReady(t, port, ended)
	info, err := c.Do("INFO", "server")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(info.Text, "process_id:")
	text, _, _ = strings.Cut(text, "\r\n")
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	stop := func() { syscall.Kill(pid, syscall.SIGTERM) }
	defer stop()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(status), "\nUid:\t65532\t65532\t65532\t65532\n") {
		t.Errorf("the broker does not run as 65532:\n%s", status)
	}
	for _, command := range [][]string{
		{"redis-cli", "-p", port, "ping"},
		{"/usr/bin/broker", "ping", "-p", port},
	} {
		if got := buildah(inside(command...)...); got != "PONG\n" {
			t.Errorf("%q: %q", command, got)
		}
	}
	stop()
	select {
	case <-ended:
	case <-time.After(harness.Patience):
		t.Fatalf("the broker does not stop:\n%s", &output)
	}
	if code := server.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d:\n%s", code, &output)
	}
}

// The program alone, as the image runs it: no user's rights, no capability,
// nothing to write to.
func TestBinary_NeedsNoRights(t *testing.T) {
	setpriv := need(t, "setpriv", "util-linux")
	if os.Getuid() != 0 {
		t.Skip("only root can give rights away")
	}
	dir := t.TempDir()
	program, err := os.ReadFile(static(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broker"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	for d := dir; d != "/"; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err == nil && info.Mode().Perm()&0o005 != 0o005 && strings.HasPrefix(d, os.TempDir()+"/") {
			os.Chmod(d, info.Mode().Perm()|0o055)
		}
	}
	port := freePort(t)
	cmd := exec.Command(setpriv, "--reuid=65532", "--regid=65532", "--clear-groups", "--no-new-privs",
		"--inh-caps=-all", "--bounding-set=-all", filepath.Join(dir, "broker"), "--port", port, "--bind", "127.0.0.1")
	cmd.Dir = "/"
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	c := dialWhenReady(t, port, ended)
	if v, err := c.Do("PING"); err != nil || v.Text != "PONG" {
		t.Errorf("%v %v", v, err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d:\n%s", code, &output)
	}
}
