package channelstore

import "unsafe"

// view returns b as a string without a copy, for a look-up.
//
// xsync.MapOf is generic over its key, so the compiler cannot see that a
// conversion in an argument is used for a look-up only, and allocates. The
// string is valid until b is written to; it is passed to Load, which hashes
// and compares it and keeps nothing. Every name that is stored is a clone.
// This file holds the package's only use of unsafe.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
