// Package clients drives the broker with programs that others wrote: go-redis,
// redis-cli and redis-benchmark.
//
// They send what no test of ours would think of before and between the
// commands that matter, and they are what the broker is for. Every test runs
// against redis-server too, which proves the test.
package clients
