package shard

import "time"

// The first bytes of a TLS record that carries a handshake message (RFC 8446,
// section 5.1), in any version of TLS.
const (
	recordHandshake = 0x16
	recordMajor     = 0x03
)

// helloLogPeriod is the least time between two lines about ClientHellos.
const helloLogPeriod = time.Second

// isClientHello reports whether data, at the place of a command, begins a TLS
// handshake: somebody has taken the plain port for the TLS port. No command
// begins with a control character.
func isClientHello(data []byte) bool {
	return len(data) > 1 && data[0] == recordHandshake && data[1] == recordMajor
}

// refuseHello closes a session that speaks TLS, at once: a reply in plain text
// would tell its client nothing, and to wait for the end of a line would leave
// it waiting for an answer.
func (l *Loop) refuseHello(s *Session) {
	l.stats.ProtocolErrors++
	g := l.group
	if next := g.nextHelloLog.Load(); l.now >= next && g.nextHelloLog.CompareAndSwap(next, l.now+int64(helloLogPeriod)) {
		g.cfg.Log.Warn("a client speaks TLS on a port without it", "session", s.id, "addr", s.Info().Addr)
	}
	l.doom(s, CloseByProtocol)
	l.partial.Reset()
	l.dropInput(s)
}
