// Package differential plays the same conversations against redis-server and
// against the broker and compares the bytes.
//
// The scripts of testdata are fixed conversations about every command the
// broker has; further ones are drawn at random from the pub/sub commands. Each
// is played in RESP2 and in RESP3. After each step both servers have said
// everything they owe, so the comparison is step by step and connection by
// connection.
//
// What Redis leaves open is brought into one form on both sides (harness.Normal):
// the order of patterns, of an unsubscribe from everything, of lists without
// an order, numbers that name a connection. Where the broker follows a later
// Redis than the one installed, the table of differences says so, entry by
// entry, with the reason; an entry that no script needs any more fails the
// tests.
package differential
