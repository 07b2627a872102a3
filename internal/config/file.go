package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Limits of what is read from files.
const (
	// maxFileBytes is the most that is read for one configuration, all its
	// files together.
	maxFileBytes = 8 << 20
	// maxFiles is the most files one configuration is read from. The depth
	// alone would not stop a file that includes itself twice.
	maxFiles = 256
	// maxIncludeDepth is how many files may be open at the same time, each
	// but the first included by the one before it.
	maxIncludeDepth = 16
)

// stdinName is how standard input is called on the command line.
const stdinName = "-"

var (
	errTooMuchText = fmt.Errorf("the configuration is longer than %d bytes", maxFileBytes)
	errManyFiles   = fmt.Errorf("the configuration has more than %d files", maxFiles)
	errTooDeep     = fmt.Errorf("files include each other more than %d deep", maxIncludeDepth)
	errNoStdin     = errors.New("there is no standard input to read the configuration from")
)

// files is the file system as the reader of configuration files sees it.
// Relative names are relative to the working directory.
type files struct {
	open func(name string) (io.ReadCloser, error)
	glob func(pattern string) ([]string, error) // sorted
}

func systemFiles() files {
	return files{
		open: func(name string) (io.ReadCloser, error) { return os.Open(name) },
		glob: globFiles,
	}
}

// A fileReader applies configuration files to a loader.
type fileReader struct {
	to    *loader
	files files

	bytes int // read so far
	count int // files opened so far
	depth int // files that are open
}

// read applies the named file, up to its first error. The error names the
// file and, when it is about a line, number and text of the line.
func (r *fileReader) read(name string) error {
	switch {
	case r.depth == maxIncludeDepth:
		return errTooDeep
	case r.count == maxFiles:
		return errManyFiles
	}
	r.count++
	f, err := r.files.open(name)
	if err != nil {
		return fileError(name, err)
	}
	defer f.Close()
	return r.apply(name, f)
}

// apply applies the text of a file that was opened by somebody else.
func (r *fileReader) apply(name string, f io.Reader) error {
	// One byte more tells a text that fills the limit from one that exceeds it.
	text, err := io.ReadAll(io.LimitReader(f, int64(maxFileBytes-r.bytes)+1))
	if err != nil {
		return fileError(name, err)
	}
	if r.bytes += len(text); r.bytes > maxFileBytes {
		return fileError(name, errTooMuchText)
	}
	r.depth++
	defer func() { r.depth-- }()
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.Trim(line, " \t\r\n")
		if err := r.line(name, number, line); err != nil {
			var inner *lineError
			if errors.As(err, &inner) {
				return err // of an included file, which says more than the include
			}
			return &lineError{where: fmt.Sprintf("%s:%d: %s", printable(name), number, r.to.shownLine(line)), err: err}
		}
	}
	return nil
}

// line applies one line, which has no blanks around it.
func (r *fileReader) line(name string, number int, line string) error {
	if line == "" || line[0] == '#' {
		return nil
	}
	if strings.IndexByte(line, 0) >= 0 {
		return errNULByte
	}
	words, err := splitArgs(line)
	if err != nil || len(words) == 0 {
		return err
	}
	directive, values := words[0], words[1:]
	if strings.EqualFold(directive, includeName) {
		return r.include(values)
	}
	p := lookup(r.to.rows, directive)
	if p == nil {
		return unknown(r.to.rows, directive, "")
	}
	return r.to.set(p, values, fmt.Sprintf("%s:%d", name, number))
}

// includeName is the directive that reads another file.
const includeName = "include"

// include reads the files that the directive's value names. As in Redis 7 a
// pattern may match none, while a plain name has to exist.
func (r *fileReader) include(values []string) error {
	if len(values) != 1 {
		return errArgCount
	}
	if !strings.ContainsAny(values[0], "*?[") {
		return r.read(values[0])
	}
	names, err := r.files.glob(values[0])
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.read(name); err != nil {
			return err
		}
	}
	return nil
}

// globFiles returns the files that a pattern of the shell matches. It differs
// from filepath.Glob where glob(3), which Redis calls, does: a leading dot is
// matched by a dot only, and [!a] is what Go writes [^a].
func globFiles(pattern string) ([]string, error) {
	names, err := filepath.Glob(strings.ReplaceAll(pattern, "[!", "[^"))
	if err != nil {
		return nil, fmt.Errorf("%w %s", err, quoteArgs([]string{pattern}))
	}
	want := strings.Split(filepath.Clean(pattern), string(filepath.Separator))
	visible := names[:0]
	for _, name := range names {
		got := strings.Split(filepath.Clean(name), string(filepath.Separator))
		hidden := false
		for i := range got {
			// A wildcard does not match a separator: the parts correspond.
			hidden = hidden || i < len(want) && strings.HasPrefix(got[i], ".") && !strings.HasPrefix(want[i], ".")
		}
		if !hidden {
			visible = append(visible, name)
		}
	}
	return visible, nil
}

// A lineError is what is wrong with one line of a file.
type lineError struct {
	where string // file, number and text of the line
	err   error
}

func (e *lineError) Error() string { return e.where + ": " + e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

// fileError is err about a whole file, which its text names once.
func fileError(name string, err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot read configuration file %s: %w", printable(name), err)
}

// shownLine quotes a line for an error, except its values when they are a
// secret: errors end up in logs.
func (l *loader) shownLine(line string) string {
	directive, more := line, false
	if i := strings.IndexAny(line, " \t\n\v\f\r"); i >= 0 {
		directive, more = line[:i], true
	}
	directive = strings.Trim(directive, `"'`)
	p := lookup(l.rows, directive)
	if p == nil {
		p = lookup(l.rows, suggestion(l.rows, directive))
	}
	if more && p != nil && p.secret {
		line = directive + " " + hiddenValue
	}
	return quoteArgs([]string{line})
}
