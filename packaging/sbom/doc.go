// Command sbom prints the bill of materials of a Go program, in CycloneDX: the
// modules that the linker has noted in it, Go itself, and the settings it was
// built with.
//
//	go run ./packaging/sbom -version 1.2.3 dist/broker > broker.cdx.json
//
// It reads the program and nothing else; licences and hashes of modules are not
// in it and so not in the bill.
package main
