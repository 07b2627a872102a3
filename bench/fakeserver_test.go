package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain lets the test binary also be a server that the runner starts, as
// the broker with the broker's arguments.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "--port" || os.Args[1] == "--version") {
		os.Exit(fakeMain(os.Args[1:]))
	}
	// A program with the race detector lingers for a second when it exits,
	// unless told otherwise; here that is every server.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// fakeMain is the program of the server.
func fakeMain(args []string) int {
	f := flag.NewFlagSet("fake", flag.ExitOnError)
	port := f.Int("port", 0, "")
	version := f.Bool("version", false, "")
	_ = f.String("client-output-buffer-limit", "", "")
	pidFile := f.String("pidfile", "", "")
	flaw := f.String("flaw", "", "")
	_ = f.Parse(args)
	if *version {
		fmt.Println("fake server 1")
		return 0
	}
	if *flaw == "start" {
		fmt.Println("cannot start today")
		return 3
	}
	if *pidFile != "" {
		if err := os.WriteFile(*pidFile, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			fmt.Println(err)
			return 4
		}
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fmt.Println(err)
		return 5
	}
	s := newFakeServer(l, *flaw)
	s.accept()
	return 0
}

// lateBy is how long a late server keeps a message, so much longer than a reply
// takes that publishers reach their window.
const lateBy = 20 * time.Millisecond

// A fakeServer is a small pub/sub server: one goroutine per connection, one
// lock, every message written at once. It does what the workloads ask for, or
// what its flaw says instead.
type fakeServer struct {
	l    net.Listener
	flaw string

	mu sync.Mutex
	// Guarded by mu.
	channels map[string][]net.Conn
	patterns map[string][]net.Conn
	held     map[net.Conn]int

	published atomic.Int64 // PUBLISH commands seen
}

func newFakeServer(l net.Listener, flaw string) *fakeServer {
	return &fakeServer{
		l: l, flaw: flaw,
		channels: map[string][]net.Conn{}, patterns: map[string][]net.Conn{}, held: map[net.Conn]int{},
	}
}

// startFakeServer serves on a free port until the test ends, with a flaw or
// with none.
func startFakeServer(t *testing.T, flaw string) (*fakeServer, int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newFakeServer(l, flaw)
	done := make(chan struct{})
	go func() {
		s.accept()
		close(done)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return s, l.Addr().(*net.TCPAddr).Port
}

// accept serves until the listener is closed and every client is gone.
func (s *fakeServer) accept() {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := s.l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() { s.serve(c) })
	}
}

func (s *fakeServer) serve(c net.Conn) {
	defer func() {
		s.mu.Lock()
		s.leaveLocked(c)
		s.mu.Unlock()
		_ = c.Close()
	}()
	in := bufio.NewReader(c)
	for {
		args, err := readCommand(in)
		if err != nil {
			return
		}
		// Write errors show when the connection is read next.
		_, _ = c.Write(s.run(c, args))
	}
}

var errFake = errors.New("not a command")

// readCommand reads an array of bulk strings, or the inline PING.
func readCommand(in *bufio.Reader) ([]string, error) {
	number := func(sign byte) (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		if line == "PING\r\n" {
			return -1, nil
		}
		if line[0] != sign {
			return 0, errFake
		}
		return strconv.Atoi(strings.TrimSuffix(line[1:], "\r\n"))
	}
	n, err := number('*')
	if n < 0 && err == nil {
		return []string{"PING"}, nil
	}
	args := make([]string, max(n, 0))
	for i := range args {
		size, err := number('$')
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(in, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, err
}

// run runs one command and returns its reply.
func (s *fakeServer) run(c net.Conn, args []string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var reply []byte
	switch args[0] {
	case "PING":
		return []byte("+PONG\r\n")
	case "PUBLISH":
		return s.publishLocked(args[1], args[2])
	case "SUBSCRIBE", "PSUBSCRIBE":
		if s.flaw == "refuse" {
			return []byte("-ERR not today\r\n")
		}
		names := s.channels
		if args[0] == "PSUBSCRIBE" {
			names = s.patterns
		}
		for _, name := range args[1:] {
			names[name] = append(names[name], c)
			s.held[c]++
			reply = appendCommand(reply, strings.ToLower(args[0]), name, "")
			reply = fmt.Appendf(reply[:len(reply)-len("$0\r\n\r\n")], ":%d\r\n", s.held[c])
		}
	case "UNSUBSCRIBE":
		for _, name := range args[1:] {
			s.channels[name] = slices.DeleteFunc(s.channels[name], func(o net.Conn) bool { return o == c })
			s.held[c]--
			reply = appendCommand(reply, "unsubscribe", name, "")
			reply = fmt.Appendf(reply[:len(reply)-len("$0\r\n\r\n")], ":%d\r\n", s.held[c])
		}
	default:
		return []byte("-ERR unknown command\r\n")
	}
	return reply
}

func (s *fakeServer) publishLocked(channel, payload string) []byte {
	s.published.Add(1)
	receivers := 0
	switch conns := s.channels[channel]; s.flaw {
	case "late": // not a flaw: it answers first and delivers when it likes
		time.AfterFunc(lateBy, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, c := range conns {
				_, _ = c.Write(appendCommand(nil, "message", channel, payload))
			}
		})
		fallthrough
	case "withhold":
		return fmt.Appendf(nil, ":%d\r\n", len(conns))
	}
	for _, c := range s.channels[channel] {
		_, _ = c.Write(appendCommand(nil, "message", channel, payload))
		receivers++
		if s.flaw == "lose" {
			break
		}
	}
	for pattern, conns := range s.patterns {
		if ok, _ := path.Match(pattern, channel); ok {
			for _, c := range conns {
				_, _ = c.Write(appendCommand(nil, "pmessage", pattern, channel, payload))
				receivers++
			}
		}
	}
	switch s.flaw {
	case "miscount":
		receivers += 10
	case "refuse_publish":
		return []byte("-NOPERM not you\r\n")
	case "silent":
		return nil
	case "leave":
		os.Exit(9)
	}
	return fmt.Appendf(nil, ":%d\r\n", receivers)
}

func (s *fakeServer) leaveLocked(c net.Conn) {
	for _, names := range []map[string][]net.Conn{s.channels, s.patterns} {
		for name, conns := range names {
			names[name] = slices.DeleteFunc(conns, func(o net.Conn) bool { return o == c })
		}
	}
	delete(s.held, c)
}
