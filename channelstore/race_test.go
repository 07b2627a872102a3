//go:build race

package channelstore

// raceEnabled says that the race detector makes everything several times
// slower.
const raceEnabled = true
