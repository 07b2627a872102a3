// Package admin is the HTTP listener for those who run the broker: /metrics,
// /healthz, /readyz, the dashboard and, when asked for, /debug/pprof.
//
// It has an address of its own, so that it can be kept from clients, and is
// off unless configured. It trusts its network more than a Redis port does:
// there is no TLS, and authentication only where Config has it. What comes in
// meets limits all the same: of connections, of headers, of time.
//
// What this package is not: it knows neither shards nor the configuration; all
// it serves are values handed to it.
//
// New, Serve and Shutdown may be called from any goroutine, Shutdown once.
// Handlers run on goroutines of net/http, which end before Shutdown returns or
// when its context ends.
package admin
