// Package archtest has a test that fails when an import points the wrong way
// (invariant arrows-down).
//
// Its table, in rooms_test.go, is the machine-readable picture of the house:
// which rooms there are, from the bottom to the top, and what each of them
// may import, from the house and from outside. A folder that is not in the
// table fails the test, so a new room begins with a row there. The test also
// wants a doc.go with a package comment in every package.
//
// What this package is not: it judges imports and package comments alone,
// not what the code does with them, and nothing of it is built into the
// broker. It reads source files without building them, so files for other
// systems and under build tags are judged as well. It uses the standard
// library only, and its tests start no goroutine.
package archtest
