// Package resp is the only room that knows bytes on the wire: it decodes
// commands incrementally and within named limits, and it encodes replies,
// acks and message frames for RESP2 and RESP3.
//
// It is deliberately not a reader or a writer: it owns no socket, no buffer
// that outlives a call and no goroutine. It does not know sessions, command
// names or subscriptions; a frame is built from a channel and a payload and
// nothing else. It does not read replies: only clients need that.
//
// No value of this package is safe for concurrent use. A Decoder and a Writer
// belong to one goroutine at a time, a Partial to whoever owns the bytes it
// describes. The Append functions and the frames they return may be used
// anywhere: a frame is never written again once it is shared, and ToRESP3 is
// for a copy that is not shared yet.
//
// Invariants:
//
//   - bounded: a count or a length from the wire is compared with a limit
//     before it is used, and sizes nothing until the bytes it announces have
//     arrived.
//   - The decoder's answers depend on the bytes only, never on the segments
//     they arrived in.
//   - No input makes the decoder panic.
//   - One call of a Writer method that begins a value writes exactly one
//     well-formed header or value, whatever bytes its arguments hold.
package resp
