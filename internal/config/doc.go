// Package config holds the broker's settings: one [Config], and one table of
// parameters from which flag parsing, the help text, CONFIG GET and
// validation all come.
//
// A parameter is one row of the table in table.go. The row names the
// parameter as Redis does, and carries its default as text, so the default a
// reader sees in the help is the one the program parses at start. Values are
// read and printed in Redis's own formats, and refused with Redis's own
// texts where it has them, because scripts match both.
//
// What this package is not: it opens nothing, resolves no address, reads no
// file and no environment, writes no log and never exits. It does not know
// which parameters a running broker may change; at present none is.
//
// Every function may be called from any goroutine. A Config is a plain value
// without locks: whoever has called [Load] or [Default] owns it until it is
// shared, and nothing may write it afterwards, the slice in Bind included.
//
// Invariants kept here: bounded (every number has a range and every length a
// limit), and arrows-down (the only room imported is internal/glob).
package config
