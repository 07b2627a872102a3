package admin

import (
	"io"
	"net/http"
	"net/http/pprof"
	"net/netip"
)

const index = `broker

/metrics       for Prometheus
/healthz       200 while the process answers
/readyz        200 while new connections are taken, 503 during the shutdown
`

const dashboardIndex = "/dashboard/    what the broker does, live\n"

const pprofIndex = "/debug/pprof/  profiles for go tool pprof\n"

// newHandler routes requests. Only GET and HEAD exist.
func newHandler(cfg *Config) http.Handler {
	mux := http.NewServeMux()
	text := index
	private := func(pattern string, h http.Handler) { mux.Handle("GET "+pattern, authorized(cfg, h)) }

	private("/metrics", cfg.Metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !cfg.Ready() {
			answer(w, http.StatusServiceUnavailable, "shutting down\n")
			return
		}
		answer(w, http.StatusOK, "ok\n")
	})
	if cfg.Dashboard != nil {
		text += dashboardIndex
		mux.Handle("/dashboard/", cfg.Dashboard)
		mux.Handle("GET /dashboard", http.RedirectHandler("/dashboard/", http.StatusMovedPermanently))
	}
	if cfg.Pprof {
		text += pprofIndex
		// pprof.Index also serves the profiles that are named behind it. The
		// command line is left out: it may hold a password.
		private("/debug/pprof/", http.HandlerFunc(pprof.Index))
		private("/debug/pprof/profile", http.HandlerFunc(pprof.Profile))
		private("/debug/pprof/symbol", http.HandlerFunc(pprof.Symbol))
		private("/debug/pprof/trace", http.HandlerFunc(pprof.Trace))
	}
	private("/{$}", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, text) }))
	return secured(mux)
}

// secured adds the headers that keep a browser from doing more with a response
// than showing it.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// authorized asks for a user and a password where cfg wants them.
func authorized(cfg *Config, next http.Handler) http.Handler {
	if cfg.Authorize == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		from, _ := netip.ParseAddrPort(r.RemoteAddr) // net/http wrote it
		if !ok || !cfg.Authorize(r.Context(), from, user, password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="broker", charset="UTF-8"`)
			answer(w, http.StatusUnauthorized, "a user and a password of the broker are needed\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client may be gone
}
