package config

import (
	"errors"
	"fmt"
	"strings"
)

// ErrHelp and ErrVersion are what [Load] returns when the arguments ask for
// the help text or the version instead of a broker. Load stops at the first
// of them; arguments after it are not looked at.
var (
	ErrHelp    = errors.New("help requested")
	ErrVersion = errors.New("version requested")
)

// maxQuoted is how many bytes of the values in an error are shown.
const maxQuoted = 128

// Load returns the configuration that the command line asks for, on top of
// the defaults. args is without the program's name and is not retained.
//
// Parameters are written as for redis-server: --name and its values, or
// --name=value. Every argument that does not begin with "--" and is not -h
// or -v is one more value of the parameter before it, so a value that does
// begin so has to be written with '='. When a parameter is given twice the
// last one counts; client-output-buffer-limit counts for each class on its
// own.
//
// An error other than [ErrHelp] and [ErrVersion] is one line for the person
// who wrote the arguments.
func Load(args []string) (Config, error) {
	c := Default()
	rows := table()
	for len(args) > 0 {
		var f flag
		var err error
		if f, args, err = nextFlag(args); err != nil {
			return Config{}, err
		}
		p := lookup(rows, f.name)
		if p == nil {
			return Config{}, unknownFlag(rows, f.name)
		}
		if err := p.set(&c, f.values); err != nil {
			return Config{}, fmt.Errorf("--%s: %w", strings.TrimSpace(p.name+" "+quoteArgs(f.values)), err)
		}
	}
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// A flag is one parameter on the command line.
type flag struct {
	name   string // without the dashes, as it was written
	values []string
}

// nextFlag takes the first flag and its values off args, which is not empty.
func nextFlag(args []string) (flag, []string, error) {
	first := args[0]
	switch first {
	case "-h", "--help":
		return flag{}, nil, ErrHelp
	case "-v", "--version":
		return flag{}, nil, ErrVersion
	}
	name, isFlag := strings.CutPrefix(first, "--")
	if !isFlag || name == "" {
		return flag{}, nil, fmt.Errorf("unexpected argument %s: parameters are written --name value", quoteArgs(args[:1]))
	}
	f := flag{name: name}
	if n, v, ok := strings.Cut(name, "="); ok {
		f.name = n
		f.values = append(f.values, v)
	}
	for args = args[1:]; len(args) > 0 && !beginsFlag(args[0]); args = args[1:] {
		f.values = append(f.values, args[0])
	}
	return f, args, nil
}

func beginsFlag(arg string) bool {
	return strings.HasPrefix(arg, "--") || arg == "-h" || arg == "-v"
}

// lookup returns the row of that name, in any case, or nil.
func lookup(rows []parameter, name string) *parameter {
	for i := range rows {
		if strings.EqualFold(rows[i].name, name) {
			return &rows[i]
		}
	}
	return nil
}

// unknownFlag names the parameter that was probably meant, if one is close.
func unknownFlag(rows []parameter, name string) error {
	shown := "--" + clip(name)
	if s := suggestion(rows, name); s != "" {
		return fmt.Errorf("unknown parameter %q, did you mean --%s?", shown, s)
	}
	return fmt.Errorf("unknown parameter %q, see --help", shown)
}

// quoteArgs prints values for an error: each one quoted, so that the result
// is a single line whatever they contain, and cut when they are long.
func quoteArgs(values []string) string {
	var b strings.Builder
	for i, v := range values {
		if b.Len() > maxQuoted {
			b.WriteString(" ...")
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%q", clip(v))
	}
	return b.String()
}

func clip(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "..."
	}
	return s
}
