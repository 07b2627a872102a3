// Command bench compares the broker with other pub/sub servers on one machine.
//
// It starts each server afresh for every run, drives it with one of the named
// workloads (workload.go), and reports what the server spent: CPU time per
// operation first, throughput second. Peers take turns within a round, so that
// what disturbs the machine disturbs all of them, and a comparison is the
// median of the ratios of neighbouring runs, never the ratio of two medians.
//
// The generator is one epoll loop on a locked OS thread. It counts bytes and
// compares the total with what the workload must produce; it does not parse.
// It is deliberately not a client library, not a correctness suite beyond
// those totals, and not a way to learn how fast many cores are: one thread
// generates the load, and README.md says what follows from that.
//
// Goroutines: the main goroutine owns the generator, all of its connections
// and the server under test. One goroutine per server waits for the process to
// end. The runtime's signal goroutine cancels the context on an interrupt; the
// loop looks at it once per turn.
package main
