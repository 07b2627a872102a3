package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func testConfig() Config {
	return Config{
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the metrics") }),
		Ready:   func() bool { return true },
		Log:     slog.New(slog.DiscardHandler),
	}
}

// get asks a handler made from cfg.
func get(cfg Config, method, path string, edit func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	newHandler(&cfg).ServeHTTP(w, r)
	return w
}

func TestHandler_Routes(t *testing.T) {
	plain, profiling, stopping := testConfig(), testConfig(), testConfig()
	profiling.Pprof = true
	stopping.Ready = func() bool { return false }
	for _, tc := range []struct {
		cfg          Config
		method, path string
		status       int
		body         string // a part
	}{
		{plain, "GET", "/metrics", 200, "the metrics"},
		{plain, "HEAD", "/metrics", 200, ""},
		{plain, "POST", "/metrics", 405, ""},
		{plain, "GET", "/healthz", 200, "ok\n"},
		{plain, "GET", "/readyz", 200, "ok\n"},
		{plain, "GET", "/", 200, "/metrics"},
		{plain, "GET", "/nope", 404, ""},
		{plain, "GET", "/debug/pprof/", 404, ""},
		{plain, "GET", "/debug/pprof/heap", 404, ""},
		{stopping, "GET", "/healthz", 200, "ok\n"},
		{stopping, "GET", "/readyz", 503, "shutting down\n"},
		{profiling, "GET", "/debug/pprof/", 200, "goroutine"},
		{profiling, "GET", "/debug/pprof/heap?debug=1", 200, "heap profile"},
		{profiling, "GET", "/debug/pprof/cmdline", 404, ""}, // it may hold a password
		{profiling, "GET", "/", 200, "/debug/pprof/"},
		{profiling, "POST", "/debug/pprof/profile", 405, ""},
	} {
		w := get(tc.cfg, tc.method, tc.path, nil)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.body) {
			t.Errorf("%s %s: %d %q, want %d with %q", tc.method, tc.path, w.Code, w.Body, tc.status, tc.body)
		}
		for _, h := range []string{"Cache-Control", "Content-Security-Policy", "X-Content-Type-Options"} {
			if w.Header().Get(h) == "" {
				t.Errorf("%s %s: no %s", tc.method, tc.path, h)
			}
		}
	}
	if body := get(plain, "GET", "/", nil).Body.String(); strings.Contains(body, "pprof") {
		t.Errorf("the index shows what is not there: %s", body)
	}
}

func TestHandler_Authorization(t *testing.T) {
	cfg := testConfig()
	cfg.Pprof = true
	cfg.Authorize = func(_ context.Context, from netip.AddrPort, user, password string) bool {
		return from.String() == "192.0.2.1:1234" && user == "me" && password == "secret" // httptest's address
	}
	right := func(r *http.Request) { r.SetBasicAuth("me", "secret") }
	wrong := func(r *http.Request) { r.SetBasicAuth("me", "guess") }
	bearer := func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret") }
	for _, path := range []string{"/metrics", "/", "/debug/pprof/", "/debug/pprof/heap"} {
		if w := get(cfg, "GET", path, right); w.Code != 200 {
			t.Errorf("%s with the password: %d", path, w.Code)
		}
		for name, edit := range map[string]func(*http.Request){"none": nil, "wrong": wrong, "bearer": bearer} {
			w := get(cfg, "GET", path, edit)
			if w.Code != 401 || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic ") || strings.Contains(w.Body.String(), "the metrics") {
				t.Errorf("%s with %s: %d %q", path, name, w.Code, w.Body)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if w := get(cfg, "GET", path, nil); w.Code != 200 {
			t.Errorf("%s asks a probe for a password: %d", path, w.Code)
		}
	}
}

// serve runs a server on a port of its own.
func serve(t *testing.T, cfg Config) (addr string, s *Server, ended chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, ended = New(cfg), make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Shutdown(ctx)
	})
	return l.Addr().String(), s, ended
}

func TestServer_ShutdownWaitsForRequests(t *testing.T) {
	cfg := testConfig()
	began, release := make(chan struct{}), make(chan struct{})
	cfg.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-release
		io.WriteString(w, "done")
	})
	addr, s, ended := serve(t, cfg)
	answer := make(chan string, 1)
	go func() {
		r, err := http.Get("http://" + addr + "/metrics")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		answer <- string(body)
	}()
	<-began
	stopped := make(chan struct{})
	go func() {
		s.Shutdown(context.Background())
		close(stopped)
	}()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	select {
	case <-stopped:
		t.Error("Shutdown did not wait")
	default:
	}
	close(release)
	<-stopped
	if got := <-answer; got != "done" {
		t.Errorf("the request in progress got %q", got)
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}

func TestServer_ShutdownCutsOffWhatLasts(t *testing.T) {
	cfg := testConfig()
	began := make(chan struct{})
	cfg.Metrics = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	})
	addr, s, _ := serve(t, cfg)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
	<-began
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Shutdown(ctx)
	if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the connection: %v", err)
	}
}

// A fakeListener hands out as many connections as are asked for.
type fakeListener struct {
	accepted atomic.Int32
	closed   chan struct{}
}

func (l *fakeListener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	l.accepted.Add(1)
	c, _ := net.Pipe()
	return c, nil
}

func (l *fakeListener) Close() error   { close(l.closed); return nil }
func (l *fakeListener) Addr() net.Addr { return nil }

func TestLimited_TheNextWaitsUntilOneIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeListener{closed: make(chan struct{})}
		l := newLimited(fake, 3)
		conns := make(chan net.Conn, 100)
		ended := make(chan error, 1)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					ended <- err
					return
				}
				conns <- c
			}
		}()
		expect := func(want int32) {
			t.Helper()
			synctest.Wait()
			if n := fake.accepted.Load(); n != want {
				t.Errorf("%d connections accepted, want %d", n, want)
			}
		}
		expect(3)
		c := <-conns
		c.Close()
		c.Close() // gives no second place back
		expect(4)
		(<-conns).Close()
		(<-conns).Close()
		expect(6)
		l.Close()
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
	})
}

// One connection more than are served at a time is served when one has ended.
func TestServer_ServesTheNextConnectionLater(t *testing.T) {
	addr, _, _ := serve(t, testConfig())
	var conns []net.Conn
	for range maxConns + 1 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
		conns = append(conns, c)
	}
	read := func(c net.Conn) {
		t.Helper()
		c.SetReadDeadline(time.Now().Add(30 * time.Second))
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("%v %v", r, err)
		}
	}
	for _, c := range conns[:maxConns] {
		read(c)
	}
	conns[0].Close()
	read(conns[maxConns])
}
