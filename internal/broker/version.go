package broker

import "broker/internal/command"

// Version is the broker's own version. A release sets it with
// -ldflags "-X broker/internal/broker.Version=...".
var Version = "0.1.0"

// CompatVersion is the version of Redis that the broker says it is compatible
// with.
const CompatVersion = command.CompatVersion
