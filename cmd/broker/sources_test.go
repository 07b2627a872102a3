//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// configValue asks a broker for one parameter.
func configValue(t *testing.T, addr, name string) string {
	t.Helper()
	c := dial(t, "tcp", addr)
	c.send(t, "CONFIG", "GET", name)
	c.expect(t, fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$", len(name), name))
	c.r.ReadString('\n')
	value, err := c.r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(value, "\r\n")
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSources_FlagsOverEnvironmentOverFile(t *testing.T) {
	port := fmt.Sprint(freePort(t))
	conf := writeFile(t, "broker.conf", "bind 127.0.0.1\nport "+port+"\nmaxclients 11\ndatabases 11\nshards 1\nhz 20\n")
	p := startWith(t, environment("BROKER_MAXCLIENTS=22", "BROKER_DATABASES=22"), "", conf, "--databases", "33")
	if p.line(t, readyMessage) == "" {
		t.Fatalf("not ready:\n%s", strings.Join(p.seen, "\n"))
	}
	addr := "127.0.0.1:" + port
	for name, want := range map[string]string{"shards": "1", "maxclients": "22", "databases": "33", "save": "", "appendonly": "no"} {
		if got := configValue(t, addr, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	want := regexp.MustCompile(`^time=\S+ level=WARN msg="Parameter accepted without effect" parameter=hz from=` + regexp.QuoteMeta(conf) + `:6$`)
	warnings := slices.DeleteFunc(slices.Clone(p.seen), func(line string) bool { return !strings.Contains(line, "level=WARN") })
	if len(warnings) != 1 || !want.MatchString(warnings[0]) {
		t.Errorf("before the ready line %q, want one line %s", p.seen, want)
	}
}

func TestSources_StandardInput(t *testing.T) {
	port := fmt.Sprint(freePort(t))
	p := startWith(t, environment(), "bind 127.0.0.1\nport "+port+"\ndatabases 7\n", "-", "--shards", "1")
	if p.line(t, readyMessage) == "" {
		t.Fatalf("not ready:\n%s", strings.Join(p.seen, "\n"))
	}
	if got := configValue(t, "127.0.0.1:"+port, "databases"); got != "7" {
		t.Errorf("databases %q, want 7", got)
	}
}

func TestSources_WhatIsWrongIsOneLine(t *testing.T) {
	conf := writeFile(t, "broker.conf", "# Redis has\ndaemonize yes\n")
	expectFailure(t, runToEnd(t, conf), conf+`:2: "daemonize yes": not supported`)

	p := startWith(t, environment("BROKER_MAX_CLIENTS=1"), "")
	if code := p.exit(t); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
	if got, want := p.stderr.String(), "broker: unknown environment variable BROKER_MAX_CLIENTS, did you mean BROKER_MAXCLIENTS?\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
}

func TestPIDFile_IsThereWhileTheBrokerRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	p, addr := startReady(t, "--pidfile", path)
	text, err := os.ReadFile(path)
	if want := fmt.Sprintf("%d\n", p.cmd.Process.Pid); err != nil || string(text) != want {
		t.Errorf("pid file %q, %v, want %q", text, err, want)
	}

	// A second one for the same port has no business with the file.
	_, port, _ := strings.Cut(addr, ":")
	expectFailure(t, runToEnd(t, "--bind", "127.0.0.1", "--port", port, "--pidfile", path), addr)
	if again, err := os.ReadFile(path); err != nil || string(again) != string(text) {
		t.Errorf("pid file after a start that failed: %q, %v, want %q", again, err, text)
	}

	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("pid file after the end: %v, want none", err)
	}
}

func TestPIDFile_OfAnotherProcessIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	p, _ := startReady(t, "--pidfile", path)
	if err := os.WriteFile(path, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGTERM)
	p.exit(t)
	if text, err := os.ReadFile(path); err != nil || string(text) != "1\n" {
		t.Errorf("pid file %q, %v, want that of process 1", text, err)
	}
}

func TestPIDFile_ThatCannotBeWrittenEndsTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "pid")
	got := runToEnd(t, "--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t)), "--pidfile", path)
	expectFailure(t, got, path+": no such file or directory")
}

// waitForLine returns the first line of a file that contains want, as soon as
// the broker has written it. Nothing tells a test of a write, so it reads again
// until the line is there or the process has ended.
func waitForLine(t *testing.T, p *process, path, want string) string {
	t.Helper()
	for giveUp := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		ended := time.Now().After(giveUp)
		select {
		case <-p.ended:
			ended = true // one last look
		default:
		}
		if f, err := os.Open(path); err == nil {
			for s := bufio.NewScanner(f); s.Scan(); {
				if strings.Contains(s.Text(), want) {
					f.Close()
					return s.Text()
				}
			}
			f.Close()
		}
		if ended {
			t.Fatalf("no line with %s in %s", want, path)
		}
	}
}

func TestLogFile_TakesAllLinesAndSurvivesRotation(t *testing.T) {
	dir := t.TempDir()
	path, old := filepath.Join(dir, "log"), filepath.Join(dir, "log.1")
	p := start(t, "--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t)), "--logfile", path, "--log-format", "json")
	var ready struct {
		Level, Msg string
		PID        int
	}
	line := waitForLine(t, p, path, "Ready to accept connections")
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.Level != "INFO" || ready.PID != p.cmd.Process.Pid {
		t.Errorf("line %q: %+v, %v, want a JSON object of level INFO with pid %d", line, ready, err, p.cmd.Process.Pid)
	}

	if err := os.Rename(path, old); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
	after, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(after), `"msg":"Shut down"`) {
		t.Errorf("new log %q, %v, want the end in it", after, err)
	}
	if before, err := os.ReadFile(old); err != nil || strings.Contains(string(before), "Shut down") {
		t.Errorf("log that was moved away %q, %v, want nothing about the end", before, err)
	}
	if text := p.line(t, ""); text != "" || p.stderr.Len() != 0 {
		t.Errorf("stdout %q, stderr %q, want nothing", text, p.stderr.String())
	}
}

func TestLogFile_LostLinesGoToStderr(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "log")
	p := start(t, "--bind", "127.0.0.1", "--port", fmt.Sprint(freePort(t)), "--logfile", path)
	waitForLine(t, p, path, readyMessage)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGTERM)
	if code := p.exit(t); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
	if !strings.Contains(p.stderr.String(), `msg="Shut down"`) {
		t.Errorf("stderr %q, want the lines that the file did not take", p.stderr.String())
	}
}
