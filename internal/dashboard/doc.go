// Package dashboard is a page that shows what the broker does: rates, load by
// shard, busy channels, slow subscribers, memory, events; with a live tail of
// a channel, a publish box, and a way to close a session.
//
// It is a client. All it knows and does it asks for with commands, over
// connections that stay inside the process, as the user whose name and
// password the browser gave; so the access control lists decide what is shown
// and done, and nothing here is trusted. The files of the page are embedded:
// no build step, and nothing is loaded from elsewhere.
//
// What this package is not: it counts nothing itself and keeps no state but
// that of open requests. The chart library in static is uPlot 1.6.32 (MIT),
// unchanged.
//
// The handler may be called from any goroutine. Streams end when their client
// leaves or Config.Stopping is closed.
package dashboard
