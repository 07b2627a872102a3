package broker

// Version is the broker's own version. A release sets it with
// -ldflags "-X broker/internal/broker.Version=...".
var Version = "0.1.0"
