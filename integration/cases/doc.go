// Package cases plays recorded conversations against the broker: each case of
// testdata/cases.json is a mistake that some pub/sub server once made, the
// bytes that provoke it, and the bytes that are right.
//
// A case runs for one and several shards and for every I/O driver, each time
// on a broker of its own, because cases count clients and patterns. The same
// runner plays the cases against redis-server, which proves the runner and the
// data.
//
// The table notYet lists the cases that need something the broker does not do.
// A test fails when an entry has lost its reason.
package cases
