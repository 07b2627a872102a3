package cases

// notYet lists the cases that need what the broker does not do, with the
// reason. TestNotYet_EveryEntryStillFails keeps it honest.
var notYet = map[string]reason{
	"A055":   {"cluster mode", ""},
	"A056.2": {"cluster mode", ""},
}

// A reason says why a case cannot run.
type reason struct {
	needs string
	// parameter is the configuration parameter that the case waits for, where
	// the case itself cannot tell: over plain TCP the TLS cases prove nothing.
	parameter string
}

// withFlags lists the cases whose CONFIG SET of a limit becomes a flag of a
// server started for them. The step that sets it and its reply are exchanged
// for a PING, which keeps the connection that sent it.
var withFlags = map[string][]string{
	"A001": {"--client-output-buffer-limit", "pubsub 1mb 0 0"},
	"A002": {"--client-output-buffer-limit", "pubsub 0 256kb 1"},
	"A007": {"--client-output-buffer-limit", "pubsub 0 1mb 1"},
	"A038": {"--client-output-buffer-limit", "pubsub 100kb 0 0"},
	"A091": {"--maxclients", "3"},
}

// needsMet are the needs of a case that every broker meets.
var needsMet = map[string]bool{"redis>=7.2": true, "valkey>=9": true, "better-than-redis": true, "password": true, "tls": true}
