// Command broker is a pub/sub broker that speaks the Redis protocol.
//
//	broker [FILE] [--name value ...]
//	broker SUBCOMMAND [argument ...]
//	broker --help
//	broker --version
//
// Called as redis-server it takes that program's command line, called as
// redis-cli it is the subcommand of that name.
//
// Package main holds what belongs to a process and nothing else: arguments
// and environment in, signals, log and pid file, the exit status. What the broker
// does is in internal/broker, what it can be told in internal/config, the
// subcommands in internal/cli.
//
// Exit status: 0 after --help, --version or an orderly shutdown; 1 when the
// broker could not start, was told to stop twice, or could not be shut down.
//
// SIGINT and SIGTERM shut the broker down: what was acknowledged is
// delivered for at most shutdown-timeout. A second one ends the process at
// once. SIGHUP and SIGPIPE are ignored.
//
// Log lines go to stdout or to logfile: "Starting" with the process id, "Server
// initialized" when the ports are open, "Ready to accept connections" when
// everything is. Whatever prevents the start is one line on stderr. The pid
// file appears before the ready line and goes with the process.
//
// Everything here runs on the main goroutine, except that Shutdown gets a
// goroutine of its own, so that a second signal is heard while it waits.
package main
