//go:build !race

package harness

// RaceDetector reports that the race detector is on: everything takes about
// ten times as long, and tests that draw their strength from numbers draw
// fewer.
const RaceDetector = false
