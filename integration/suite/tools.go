package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// tools maps the programs that a run needs to the Debian packages they are in.
var tools = []struct{ program, pkg string }{
	{"tclsh", "tcl"},
	{"dpkg-source", "dpkg-dev"},
	{"redis-cli", "redis-tools"},
	{"redis-benchmark", "redis-tools"},
}

// missingPackages returns the Debian packages of the programs that are not
// installed, each once.
func missingPackages() []string {
	var pkgs []string
	for _, t := range tools {
		if _, err := exec.LookPath(t.program); err != nil {
			if len(pkgs) == 0 || pkgs[len(pkgs)-1] != t.pkg {
				pkgs = append(pkgs, t.pkg)
			}
		}
	}
	return pkgs
}

// installTools sees to it that the programs are there. It installs packages
// only when told to, as root or with a sudo that asks for no password.
func installTools(ctx context.Context, install bool) error {
	pkgs := missingPackages()
	if len(pkgs) == 0 {
		return nil
	}
	command := append([]string{"apt-get", "install", "-q", "-y", "--no-install-recommends"}, pkgs...)
	if !install {
		return fmt.Errorf("missing programs: %s", strings.Join(command, " "))
	}
	var asRoot []string
	if os.Getuid() != 0 {
		asRoot = []string{"sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive"}
	}
	for _, args := range [][]string{{"apt-get", "update", "-q"}, command} {
		args = append(asRoot[:len(asRoot):len(asRoot)], args...)
		if err := run(ctx, ".", args[0], args[1:]...); err != nil {
			return err
		}
	}
	return nil
}
