package metrics

import (
	"broker/internal/command"
)

// A State is what all metrics of one scrape are taken from.
type State struct {
	command.Snapshot

	// MaxClients is the number of sessions that are served at once.
	MaxClients int
}

// A Source returns the state now; false: there is none any more, since the
// broker shuts down. It may block.
type Source func() (State, bool)
