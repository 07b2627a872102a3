package command

// CompatVersion is the version of Redis that the broker says it is compatible
// with.
const CompatVersion = compatVersion
