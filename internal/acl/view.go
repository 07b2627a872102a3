package acl

import "unsafe"

// view returns b as a string without a copy, to match or to compare it.
//
// Checks run before every command and must not allocate, while glob.Match takes
// strings and a conversion in its argument is a copy. The string is valid until
// b is written to; it is passed to glob.Match and to comparisons, which keep
// nothing. This file holds the package's only use of unsafe.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
