// Command suite runs the test suites of Redis 7.0.15 and Valkey 9.1.2 against
// the broker.
//
//	suite [flags] redis|valkey
//
// The suites are programs in Tcl that start src/redis-server themselves, with
// a configuration per group of tests. The broker takes that name's place. What
// can be run is decided by a list per suite (redis-7.0.15.txt,
// valkey-9.1.2.txt): every test of the units that matter to the broker is in
// it, either as one that must pass or under the reason why it is skipped or
// fails. Exit status 1 when a test that must pass fails or is gone, when a test
// fails that the list does not know, or when one passes that should not.
//
// Nothing of a suite is part of this repository. The source package comes from
// the Debian mirror that the machine itself uses, into a cache below the
// user's cache directory, and each run works in copies that it removes.
//
// It is deliberately not a test of package testing: it needs the network once,
// takes minutes, and its unit of success is a table, not a function.
//
// One goroutine per job owns one working copy of the suite and a range of
// ports; everything else runs on the main goroutine. A unit that exceeds its
// time is ended together with all the servers it started.
package main
