package admin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Limits on who talks to the listener. A monitoring system uses one connection.
const (
	maxConns       = 16
	maxHeaderBytes = 16 << 10
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 90 * time.Second // a CPU profile takes 30 s unless told otherwise
	idleTimeout    = 2 * time.Minute
)

// Config is what the listener serves. It does not change.
type Config struct {
	// Metrics is the handler of /metrics.
	Metrics http.Handler

	// Ready reports whether the broker takes new connections; see /readyz.
	Ready func() bool

	// Dashboard, if not nil, is the handler of /dashboard/. It asks for a user
	// itself.
	Dashboard http.Handler

	// Pprof adds /debug/pprof, which shows memory and can slow the broker.
	Pprof bool

	// Authorize reports whether a user may look who asks from an address. nil:
	// everybody may. It is called from any goroutine and may block until ctx
	// ends. /healthz and /readyz do not ask: they say nothing else, and probes
	// have no passwords.
	Authorize func(ctx context.Context, from netip.AddrPort, user, password string) bool

	// Log receives faults of the listener.
	Log *slog.Logger
}

// A Server serves HTTP on one listener.
type Server struct {
	http http.Server
}

// New returns a server that Serve runs.
func New(cfg Config) *Server {
	return &Server{http: http.Server{
		Handler:           newHandler(&cfg),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}}
}

// Serve accepts connections on l until Shutdown, at most maxConns at a time. It
// closes l, and returns nil after Shutdown.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(newLimited(l, maxConns))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown closes the listener and waits for the requests in progress until
// ctx ends, when it cuts them off.
func (s *Server) Shutdown(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}
