// Package ordering tests the promises about messages that a client can see:
// what comes before what, what never comes, and how many come.
//
// Each test carries the name of the invariant it is about and runs for one, two
// and eight shards and for every I/O driver, with publishers and subscribers on
// connections of their own at the same time. It runs against redis-server too,
// which keeps all these promises by having one thread: a test that fails there
// is wrong itself.
package ordering
