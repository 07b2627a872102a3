package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Each job has a range of ports for itself: the harness's own port is a little
// below the first, and it wants port+10000 of each server's free, too.
const (
	firstPort   = 21111
	portsPerJob = 1000
)

// A workdir is a working copy of a suite, in which the server's program starts
// the broker. One goroutine uses it at a time: the harness empties its folder
// for temporary files whenever it starts.
type workdir struct {
	path   string
	port   int // the first of the job's ports
	shards int // of each server
}

// newWorkdir makes the copy number n below parent.
func (s suite) newWorkdir(parent, source, broker string, n int) (*workdir, error) {
	w := &workdir{path: filepath.Join(parent, fmt.Sprint(n)), port: firstPort + n*portsPerJob}
	if err := os.CopyFS(filepath.Join(w.path, "tests"), os.DirFS(filepath.Join(source, "tests"))); err != nil {
		return nil, err
	}
	src := filepath.Join(w.path, "src")
	if err := os.MkdirAll(src, 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(w.path, "tests", "tmp"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(src, s.server), []byte(launcher(broker)), 0o755); err != nil {
		return nil, err
	}
	for _, client := range []string{"cli", "benchmark"} {
		path, err := exec.LookPath("redis-" + client)
		if err != nil {
			return nil, err
		}
		name := strings.Replace(s.server, "server", client, 1)
		if err := os.Symlink(path, filepath.Join(src, name)); err != nil {
			return nil, err
		}
	}
	configs, err := filepath.Glob(filepath.Join(w.path, "tests", "assets", "*.conf"))
	if err != nil {
		return nil, err
	}
	for _, path := range configs {
		if err := dropDirectives(path); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// launcher is the script that stands where the harness looks for the server.
//
// The harnesses wait two minutes for lines in the log that a broker which
// refuses its configuration never writes: the process's number, which exec
// keeps, and Valkey's for the second one. After them they ask the server
// whether it is up. Names of files are relative to the configuration's dir,
// which the broker leaves to whoever starts it.
func launcher(broker string) string {
	return `#!/bin/sh
if [ -f "$1" ]; then
	echo " PID: $$ (before Server initialized)"
	config=$(realpath "$1")
	shift
	set -- "$config" "$@"
	dir=$(sed -n 's/^dir "\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$config" | tail -n 1)
	dir=$(realpath "${dir:-.}")
	sed -i "s|^dir .*|dir $dir|" "$config"
	cd "$dir" || exit 1
fi
exec '` + strings.ReplaceAll(broker, "'", `'\''`) + `' "$@"
`
}

// dropDirectives removes from a configuration what would keep the broker from
// starting: nothing is stored, so nothing can be saved; and all servers have
// the same pidfile, in a folder where only root may write.
func dropDirectives(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, " "); name != "save" && name != "pidfile" {
			kept.WriteString(line)
		}
	}
	return os.WriteFile(path, []byte(kept.String()), 0o644)
}
