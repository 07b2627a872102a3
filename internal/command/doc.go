// Package command holds the command table and the handlers: what a client may
// ask for and what it is answered.
//
// There is one table, built by newTable from one file per Redis command group.
// A row carries the name, arity, flags, ACL categories, documentation and the
// handler of one command or subcommand. Arity checks, the errors for unknown
// names, COMMAND and its subcommands, the HELP texts, the numbering of
// statistics and the command list of the README are all derived from it. To
// add a command: one row, one handler.
//
// There is no keyspace: reads of one answer that it is empty, writes are
// unknown commands, and no script is run. What would follow from a key, such as
// a message of CLIENT TRACKING, does not exist.
//
// The package does not know sockets, event loops or where a message goes; it
// calls the methods of shard.Session. It does not parse requests and does not
// own the configuration; CONFIG GET and the rest reach it as plain values and
// functions in Config.
//
// Who may do what is decided by package acl, whose Store the Dispatcher owns. A
// session whose user may do everything costs nothing to check: it carries no
// mark, and whoever takes a permission from a user marks the sessions on their
// loops, and closes those that have lost what they hold, before the change is
// answered for.
//
// Dispatcher.Handle, Dispatcher.EndRun and every handler run on the loop that
// owns the session (invariant one-loop). Each loop has its own statistics,
// made by Dispatcher.NewLocal and touched by that loop only; INFO, CONFIG
// RESETSTAT, CLIENT LIST, CLIENT KILL and ACL visit all loops with shard.Gather, and
// each loop resets or closes what is its own. A Dispatcher is immutable after New
// apart from the samples behind INFO's rates and peaks, which a mutex guards.
//
// Invariants kept here: bounded (every number of names that one command may
// ask about or publish to has a limit, replies are limited by the session's outbox),
// one-loop, the order of checks (a request that is HTTP, an unknown command,
// wrong arity, no login, no permission, a RESP2 subscriber's limits, then the
// handler), and: nobody holds a subscription that its user is not allowed, once
// the change that forbids it has been answered for.
package command
