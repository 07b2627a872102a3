// Package harness is what the black-box tests share: servers to test, raw
// connections to talk to them, a reader of RESP2 and RESP3 values, and scripts
// that are played against one server or several.
//
// A Target is a server that runs: redis-server, the broker inside the test's
// own process, or the broker's binary. All of them take the same flags and all
// listen on 127.0.0.1, on a port chosen for them. A test never stops a server
// that it did not start.
//
// It is deliberately not a client library: a Conn sends the bytes it is given
// and hands back the bytes that come, because the bytes are what is tested.
//
// Nothing here sleeps. Reads wait for the socket under a deadline; a server is
// waited for by the line it logs or by the call that starts it. To know that
// everything a server owed a connection has arrived, a test plays a barrier
// (Conn.Barrier).
//
// A Conn belongs to one goroutine at a time. A Target may be used by many.
package harness
