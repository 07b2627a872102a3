// Package tools tests the subcommands of the program against running brokers,
// and the one that stands in for redis-cli against the real redis-cli.
//
// The tools run inside the test's process, as the program runs them; what
// belongs to the process, such as signals and links, is tested beside it in
// cmd/broker.
package tools
