package faults

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// folder holds the program, which the first test that needs it builds.
var folder string

func TestMain(m *testing.M) {
	if addr := os.Getenv(asWitness); addr != "" {
		if err := bearWitness(addr, os.Getenv(asWitness+"_PASSWORD")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "broker-faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	folder = dir
	code := m.Run()
	os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var build sync.Once

func binary(t *testing.T) string {
	t.Helper()
	build.Do(func() { harness.BuildBinary(t, folder) })
	return filepath.Join(folder, "broker")
}

// aside lets a test that mostly waits run beside others in the short form. In
// the full one each has the machine to itself, for the figures' sake.
func aside(t *testing.T) {
	if !reliability.Full() {
		t.Parallel()
	}
}

// A process is a broker that runs by itself.
type process struct {
	t     *testing.T
	addr  string
	cmd   *exec.Cmd
	ended chan struct{} // closed once it is gone

	mu  sync.Mutex
	log strings.Builder // guarded by mu
}

// start runs the program at addr, or when that is empty on a free port, and
// returns when it accepts connections. It is killed at the latest when the
// test ends.
func start(t *testing.T, addr string, flags ...string) *process {
	t.Helper()
	return startAs(t, addr, binary(t), flags...)
}

// startAs is start with words of a command that ends in running the program.
func startAs(t *testing.T, addr, command string, flags ...string) *process {
	t.Helper()
	if addr == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr = l.Addr().String()
		l.Close()
	}
	_, port, _ := net.SplitHostPort(addr)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--bind", "127.0.0.1", "--port", port}, flags...)
	words := strings.Fields(command)
	p := &process{t: t, addr: addr, cmd: exec.Command(words[0], append(words[1:], args...)...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	// It ends with the test, however that ends: with the thread that started
	// it, which is therefore kept.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // the status is in ProcessState
		}
	}()
	err = <-started
	w.Close()
	if err != nil {
		r.Close()
		t.Fatal(err)
	}
	ready, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		defer r.Close()
		told := false
		for lines := bufio.NewScanner(r); lines.Scan(); {
			p.mu.Lock()
			if p.log.Len() < 1<<16 {
				fmt.Fprintln(&p.log, lines.Text())
			}
			p.mu.Unlock()
			if !told && strings.Contains(lines.Text(), "Ready to accept connections") {
				told = true
				close(ready)
			}
		}
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		<-read
		if t.Failed() {
			t.Logf("the broker said:\n%s", p.said())
		}
	})
	select {
	case <-ready:
	case <-p.ended:
		t.Fatalf("the broker ended: %s", p.said())
	case <-time.After(harness.Patience):
		t.Fatalf("the broker does not get ready: %s", p.said())
	}
	return p
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%v: %v", s, err)
	}
}

// exit waits for the end and returns the exit status, -1 after a signal.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(harness.Patience):
		p.t.Fatalf("still running: %s", p.said())
		return 0
	}
}

func (p *process) dial() *harness.Conn {
	p.t.Helper()
	c, err := harness.Dial(p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(c.Close)
	return c
}

// residentBytes is the memory that the process has in use.
func (p *process) residentBytes() int64 {
	p.t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return kib << 10
}

// descriptors is how many the process has open.
func (p *process) descriptors() int {
	p.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(list)
}

// processorTime is what the process has used so far.
func (p *process) processorTime() time.Duration {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	// Behind the name in parentheses: state is field 3, utime and stime are 14
	// and 15, in hundredths of a second.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		p.t.Fatalf("/proc/pid/stat: %s", text)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// info returns one number of INFO.
func info(t *testing.T, c *harness.Conn, field string) int64 {
	t.Helper()
	v, err := c.Do("INFO", "everything")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(v.Text, field+":")
	if !ok {
		t.Fatalf("INFO has no %s", field)
	}
	text, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// await asks until ok says yes.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(harness.Patience); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// subscribe subscribes a connection to one channel.
func subscribe(t *testing.T, c *harness.Conn, channel string) {
	t.Helper()
	if v, err := c.Do("SUBSCRIBE", channel); err != nil || len(v.Elems) != 3 {
		t.Fatal(v, err)
	}
}
