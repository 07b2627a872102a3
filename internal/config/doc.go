// Package config holds the broker's settings: one [Config], and one table of
// parameters from which the configuration file, the environment, flags, the
// help text, CONFIG GET and validation all come.
//
// A parameter is one row of the table. The rows of settings (table.go) name a
// field of Config as Redis does, and carry its default as text, so the default
// a reader sees in the help is the one the program parses at start. The other
// rows (facts.go, inert.go) are for Redis's parameters that set nothing here:
// facts have one value, some directives are refused, the rest has no effect and
// is kept to be shown. Values are read and printed in Redis's own formats, and
// refused with Redis's own texts where it has them, because scripts match both.
//
// [Config.Set] is what CONFIG SET may do to a running broker and
// [Config.Rewrite] is CONFIG REWRITE. Neither makes a change felt: that is up to
// whoever owns the listeners, the shards and the users.
//
// What this package is not: it opens nothing but the configuration files it is
// told of, resolves no address, reads no environment but the one it is given,
// looks at no rule of a user and at no certificate, writes no log and never
// exits.
//
// Every function may be called from any goroutine; loading and rewriting block
// for as long as the files do. A Config is a plain value without locks: whoever
// has called [Load] or [Default] owns it until it is shared, and nothing may
// write it afterwards, its slices and its map included. Of two Rewrites of one
// file at the same time one counts.
//
// Invariants kept here: bounded (every number has a range, every length a
// limit, and so have the files together, their number and their nesting), and
// arrows-down (the only room imported is internal/glob).
package config
