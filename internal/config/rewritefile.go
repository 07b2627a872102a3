package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNoFile is what [Config.Rewrite] returns when the configuration came from
// no file. The text is Redis's reply.
var ErrNoFile error = redisError("ERR The server is running without a config file")

// newFilePerm is for a file that is not there any more: it may hold passwords.
const newFilePerm = 0o600

// Rewrite makes the file that c was loaded from say what c says, so that the
// next start finds it. Comments, includes and the order of lines stay; what
// the file lacks is appended. Users are the only lines it does not look at the
// meaning of; with an aclfile there are none.
//
// The file is replaced as a whole or stays as it was. Its folder must be
// writable. It blocks until the new file is on disk. The text of an error is
// Redis's whole reply, without the leading '-'.
func (c *Config) Rewrite() error {
	if c.File == "" {
		return ErrNoFile
	}
	if err := c.rewriteFile(); err != nil {
		return rewriteError{plainError(err)}
	}
	return nil
}

func (c *Config) rewriteFile() error {
	// A link stays one: what it leads to is replaced.
	path, err := filepath.EvalSymlinks(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		path = c.File
	case err != nil:
		return err
	}
	text, perm, err := readWithPerm(path)
	if err != nil {
		return err
	}
	want := *c
	if want.ACLFile != "" {
		want.Users = nil
	}
	if text, err = rewritten(text, &want, c.loadOver); err != nil {
		return err
	}
	return replaceFile(path, text, perm)
}

// readWithPerm reads a file that may be missing.
func readWithPerm(path string) (text string, perm fs.FileMode, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", newFilePerm, nil
	}
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, syscall.EINVAL
	}
	bytes, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(bytes) > maxFileBytes {
		err = errTooMuchText
	}
	return string(bytes), info.Mode().Perm(), err
}

// replaceFile gives the file at path a new text in one step, also for whoever
// looks after a crash.
func replaceFile(path, text string, perm fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	// Created for the owner alone.
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename last. Not every file system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// plainError returns what the system said, in C's spelling, without the paths
// that clients need not know.
func plainError(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	text := errno.Error()
	return redisError(strings.ToUpper(text[:1]) + text[1:])
}
