package main

import _ "embed"

// A suite is one server's tests and how they expect to be run.
type suite struct {
	pkg     string // Debian source package
	release string // Debian release whose package it is
	version string // upstream version, which names the unpacked folder
	server  string // name of the server's program
	binDir  string // environment variable for the programs' folder, "" for src
	list    string // what is to pass and what is skipped, see parseList
}

var (
	//go:embed redis-7.0.15.txt
	redisList string
	//go:embed valkey-9.1.2.txt
	valkeyList string
)

// suites are the known ones by the name the program is called with.
func suites() map[string]suite {
	return map[string]suite{
		"redis": {
			pkg: "redis", release: "bookworm", version: "7.0.15",
			server: "redis-server", list: redisList,
		},
		// Debian's unstable release moves on. When it has another version the
		// package cannot be had and the run says so.
		"valkey": {
			pkg: "valkey", release: "sid", version: "9.1.2",
			server: "valkey-server", binDir: "VALKEY_BIN_DIR", list: valkeyList,
		},
	}
}
