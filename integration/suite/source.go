package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// cacheDir is where source packages stay between runs: below the user's cache
// directory, or where the machine has none below the temporary one.
func cacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "broker-suite")
}

// source returns the folder of the suite's unpacked source package, which it
// fetches when the cache does not have it.
func (s suite) source(ctx context.Context) (string, error) {
	name := s.pkg + "-" + s.version
	kept := filepath.Join(cacheDir(), name)
	if _, err := os.Stat(kept); err == nil {
		return kept, nil
	}
	if err := os.MkdirAll(cacheDir(), 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(cacheDir(), "fetch-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := s.fetch(ctx, dir); err != nil {
		return "", fmt.Errorf("fetch the source package of %s: %w", name, err)
	}
	unpacked := filepath.Join(dir, "src", name)
	if _, err := os.Stat(unpacked); err != nil {
		return "", fmt.Errorf("Debian %s has no %s: %w", s.release, name, err)
	}
	// Another run may have been quicker; what it put there is the same.
	if err := os.Rename(unpacked, kept); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return kept, nil
}

// fetch downloads and unpacks the source package into dir/src with the
// machine's apt, which checks its signature. The apt lists and settings of the
// system are not touched: everything apt writes stays in dir.
func (s suite) fetch(ctx context.Context, dir string) error {
	mirror, err := debianMirror(ctx)
	if err != nil {
		return err
	}
	for _, sub := range []string{"parts", "lists/partial", "cache/archives/partial", "src"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	sources := fmt.Sprintf("Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\n"+
		"Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n", mirror, s.release)
	if err := os.WriteFile(filepath.Join(dir, "parts", "suite.sources"), []byte(sources), 0o644); err != nil {
		return err
	}
	options := []string{
		"-q",
		"-o", "Dir::Etc::sourcelist=/dev/null",
		"-o", "Dir::Etc::sourceparts=" + filepath.Join(dir, "parts"),
		"-o", "Dir::State::lists=" + filepath.Join(dir, "lists"),
		"-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		// apt would drop root's rights to a user who cannot write here.
		"-o", "APT::Sandbox::User=root",
	}
	src := filepath.Join(dir, "src")
	if err := run(ctx, src, "apt-get", append(options, "update")...); err != nil {
		return err
	}
	return run(ctx, src, "apt-get", append(options, "source", s.pkg)...)
}

// debianMirror returns the address that this machine fetches Debian's packages
// from.
func debianMirror(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets",
		"--format", "$(ORIGIN)|$(RELEASE)|$(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("ask apt for this machine's Debian mirror: %w", err)
	}
	return pickMirror(string(out))
}

// pickMirror chooses among apt's index targets, one per line as
// origin|release|address. The origin is only known once apt has fetched the
// index.
func pickMirror(targets string) (string, error) {
	for line := range strings.Lines(targets) {
		field := strings.Split(strings.TrimSpace(line), "|")
		if len(field) != 3 || strings.Contains(field[1], "security") {
			continue
		}
		unknown := strings.HasPrefix(field[0], "$(")
		if field[0] == "Debian" || unknown && strings.HasSuffix(strings.TrimRight(field[2], "/"), "/debian") {
			return field[2], nil
		}
	}
	return "", errors.New("apt knows no Debian mirror on this machine; unpack the source package yourself and name its folder with -source")
}

// run runs a program in dir; its output is part of the error.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
