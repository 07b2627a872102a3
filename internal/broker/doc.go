// Package broker assembles the rooms: it builds the shards and the command
// layer from a Config, opens the listeners, runs, and shuts down without
// losing what was acknowledged.
//
// It is the only package that knows both planes. It holds no protocol and no
// delivery logic. Start and Shutdown may be called from any goroutine, each
// once.
package broker
