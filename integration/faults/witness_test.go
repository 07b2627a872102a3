package faults

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"broker/integration/harness"
)

// A witness is a client in a process of its own that asks PING, over and over:
// what it waits is the broker's doing, and not that of a test with thousands of
// goroutines.
type witness struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout io.Reader
}

// asWitness says to the test's own program that it is one, and of which broker.
const asWitness = "FAULTS_WITNESS"

// startWitness starts one; password may be empty.
func startWitness(t *testing.T, addr, password string) *witness {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{cmd: exec.Command(self)}
	w.cmd.Env = append(os.Environ(), asWitness+"="+addr, asWitness+"_PASSWORD="+password)
	w.cmd.Stderr = os.Stderr
	stdin, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.stdin, w.stdout = stdin, stdout
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.stdin.Close() })
	var ready string
	if _, err := fmt.Fscanln(w.stdout, &ready); err != nil || ready != "ready" {
		t.Fatalf("the witness says %q: %v", ready, err)
	}
	return w
}

// A testimony is how long answers took.
type testimony struct {
	answers                  int
	median, percent99, at100 time.Duration
}

func (y testimony) String() string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	return fmt.Sprintf("PING of a client beside them took %.2f ms (50 %%), %.2f ms (99 %%), %.1f ms at the most",
		ms(y.median), ms(y.percent99), ms(y.at100))
}

// end stops the witness and returns what it has seen. It must have been
// answered every time.
func (w *witness) end(t *testing.T) testimony {
	t.Helper()
	w.stdin.Close()
	var y testimony
	if _, err := fmt.Fscanln(w.stdout, &y.answers, &y.median, &y.percent99, &y.at100); err != nil {
		t.Errorf("the witness: %v", err)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("the witness: %v", err)
	}
	return y
}

// bearWitness is the process's work: until its standard input ends.
func bearWitness(addr, password string) error {
	c, err := harness.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if password != "" {
		if v, err := c.Do("AUTH", password); err != nil || v.Text != "OK" {
			return fmt.Errorf("AUTH: %v %w", v, err)
		}
	}
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	fmt.Println("ready")
	var trips []time.Duration
	for {
		select {
		case <-stop:
			slices.Sort(trips)
			if len(trips) == 0 {
				trips = append(trips, 0)
			}
			fmt.Println(len(trips), int64(at(trips, 50)), int64(at(trips, 99)), int64(at(trips, 100)))
			return nil
		default:
		}
		begin := time.Now()
		if v, err := c.Do("PING"); err != nil || v.Text != "PONG" {
			return fmt.Errorf("PING: %v %w", v, err)
		}
		trips = append(trips, time.Since(begin))
	}
}
