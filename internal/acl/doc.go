// Package acl holds the users of the broker and what each may do: Redis's
// access control lists for a server that has channels and no keys.
//
// A Store is the set of users. A User is a handle that a session keeps for as
// long as it is logged in; what the user may do is an immutable Rules behind
// it. SETUSER, DELUSER, LOAD and the rest install the next Rules into the same
// handle, so a session sees a change with its next command, without being
// told. The store says which users a change concerns (Change), and Rules.Covers
// whether a channel that is held is still allowed; finding and closing the
// sessions is the caller's.
//
// The package deliberately knows no sessions, no command handlers and no
// requests: commands are names, categories and numbers that the caller gives
// to NewStore, and the channels of a request are a range of its arguments. Key
// patterns are kept and shown, and checked by nobody, as there are no keys.
//
// Any goroutine may call everything here. Authenticate, Lookup, and all
// methods of User and Rules take no lock and do not block; a check allocates
// nothing. Methods that change users are serialised by the store's mutex,
// which is never held across I/O. Load and Save read and write a file and block
// for as long as that takes.
//
// Invariants kept here: frozen (Rules are never written once installed),
// one-writer (only the holder of the store's mutex installs), bounded (lengths
// and counts from the wire are compared with the limits in limits.go), and: a
// change applies as a whole or not at all; a password exists as its SHA-256
// only; every text that shows rules gives the same rules when it is read back.
package acl
