package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 15 * time.Second // from exec until the server answers a PING
	startPause   = 5 * time.Millisecond
	stopTimeout  = 3 * time.Second // from SIGTERM until SIGKILL
	startTries   = 3               // ports tried; another program may take a free one first
	logTailBytes = 2 << 10         // of the server's output, quoted in an error
)

// A server is a process the runner started. One goroutine waits for it to end.
type server struct {
	target
	cmd     *exec.Cmd
	log     *os.File      // stdout and stderr
	exited  chan struct{} // closed when the process has ended
	waitErr error         // readable after exited
}

// startServer starts c in dir on a free loopback port and returns when it
// answers a PING. The caller stops it.
func startServer(ctx context.Context, c contender, dir string, p placement) (*server, error) {
	var err error
	for range startTries {
		var s *server
		if s, err = tryStart(ctx, c, dir, p); err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("start %s: %w", c.Name, err)
}

func tryStart(ctx context.Context, c contender, dir string, p placement) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(dir, "server-*.log")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.args(port)...)
	cmd.Dir = dir
	// A file and not a pipe: nothing has to be copied while the clock runs.
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// In a group of its own the server does not get the terminal's
		// interrupt; it is stopped by us, and by the kernel if we are killed.
		Setpgid:   true,
		Pdeathsig: syscall.SIGKILL,
	}
	if err := p.start(cmd); err != nil {
		_ = log.Close()
		return nil, err
	}
	s := &server{
		target: target{port: port, pid: cmd.Process.Pid, proto: c.proto},
		cmd:    cmd, log: log, exited: make(chan struct{}),
	}
	go func() { // ends with the process, which stop sees to
		s.waitErr = cmd.Wait()
		close(s.exited)
	}()
	if err := s.awaitReady(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// freePort returns a loopback port nobody listens on at the moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// awaitReady connects and pings until the server answers.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(startPause)
	defer tick.Stop()
	for {
		err := ping(s.port)
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("it ended: %w: %s", errors.Join(s.waitErr, err), s.logTail())
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w: %s", errors.Join(ctx.Err(), err), s.logTail())
		case <-tick.C:
		}
	}
}

// ping asks the server at port whether it is ready. Both protocols know PING;
// NATS greets with a line of its own first.
func ping(port int) error {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	r := bufio.NewReader(conn)
	for range 3 {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if strings.Contains(line, "PONG") {
			return nil
		}
		if !strings.HasPrefix(line, "INFO ") {
			return fmt.Errorf("answer to PING: %q", line)
		}
	}
	return errors.New("no answer to PING")
}

// logTail returns the end of what the server printed.
func (s *server) logTail() string {
	b, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(b[max(0, len(b)-logTailBytes):]))
}

// stop ends the process it started, by that process's id, and waits until it
// has ended.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-timer.C:
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	_ = s.log.Close()
	_ = os.Remove(s.log.Name())
}

// findPeers returns the peers a comma-separated list names, or all that are in
// PATH if it is "auto", and why the others are left out.
func findPeers(list string) (found []contender, skipped []string, err error) {
	wanted := map[string]bool{}
	if list != "auto" && list != "none" {
		for name := range strings.SplitSeq(list, ",") {
			wanted[strings.TrimSpace(name)] = true
		}
	}
	for _, p := range programs() {
		if list == "none" || (list != "auto" && !wanted[p.name]) {
			skipped = append(skipped, p.name+": not asked for")
			continue
		}
		delete(wanted, p.name)
		path, err := exec.LookPath(p.executable)
		if err != nil {
			if list != "auto" {
				return nil, nil, fmt.Errorf("peer %s: %w", p.name, err)
			}
			skipped = append(skipped, fmt.Sprintf("%s: no %s in PATH", p.name, p.executable))
			continue
		}
		found = append(found, newContender(p.name, path, nil))
	}
	for name := range wanted {
		return nil, nil, fmt.Errorf("no peer is named %q", name)
	}
	return found, skipped, nil
}

// buildBroker builds the broker of the module the working directory is in and
// returns its path in dir. It asks for the commit to be recorded, whatever the
// environment says, because the report names it.
func buildBroker(ctx context.Context, dir string) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	path := filepath.Join(dir, "broker")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=auto", "-o", path, "./cmd/broker")
	build.Dir = filepath.Dir(strings.TrimSpace(string(mod)))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the broker: %w: %s", err, bytes.TrimSpace(out))
	}
	return path, nil
}
