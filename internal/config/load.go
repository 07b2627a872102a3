package config

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrHelp and ErrVersion are what [Load] and [Sources.Load] return when the
// arguments ask for the help text or the version instead of a broker. The
// first of them counts; arguments after it are not looked at, and neither are
// the values before it or any file.
var (
	ErrHelp    = errors.New("help requested")
	ErrVersion = errors.New("version requested")
)

// maxQuoted is how many bytes of the values in an error are shown.
const maxQuoted = 128

// hiddenValue is shown in an error instead of a secret.
const hiddenValue = "(hidden)"

// Sources are the places a configuration comes from: the defaults, then the
// file that the arguments name, then the environment, then the flags in the
// arguments. Each of them overrides the ones before it, parameter by
// parameter; client-output-buffer-limit counts for each class on its own.
// Within one source the last mention of a parameter counts.
type Sources struct {
	// Args is the command line without the program's name. It is not
	// retained.
	//
	// The first argument, when it does not begin with a dash, names a
	// configuration file in redis.conf's syntax; "-" is standard input. The
	// rest is written as for redis-server: --name and its values, in one
	// argument or several, or --name=value. Every argument that does not begin
	// with "--" and is not -h or -v is one more value of the parameter before
	// it, and so is the one behind the name of a parameter that has one value,
	// as long as it does not ask for the help or the version. Behind the file
	// the first name may go without its dashes.
	Args []string

	// Env is the environment in the form of os.Environ. Only what begins
	// with BROKER_ is looked at: BROKER_TCP_BACKLOG is tcp-backlog, and
	// BROKER_DEFAULTS holds flags that everything else overrides. Nil: none.
	Env []string

	// Stdin is what the file name "-" stands for. Nil: there is none.
	Stdin io.Reader
}

// An Unused is a parameter of Redis that was set, and that means nothing in a
// broker without keys, persistence and replicas.
type Unused struct {
	Name  string
	Where string // "file:line", an environment variable or "command line"
}

// Load returns the configuration that the command line asks for, on top of
// the defaults and without an environment. It is [Sources.Load] for programs
// that embed the broker.
func Load(args []string) (Config, error) {
	c, _, err := Sources{Args: args}.Load()
	return c, err
}

// Load returns the configuration that s describes, and what was set to no
// effect, each parameter once. It reads the files that are named and may block
// on them. The caller owns the result.
//
// An error other than [ErrHelp] and [ErrVersion] is one line for the person
// who wrote the configuration.
func (s Sources) Load() (Config, []Unused, error) {
	return s.load(systemFiles())
}

func (s Sources) load(system files) (Config, []Unused, error) {
	file, flags, err := parseArgs(s.Args)
	if err != nil {
		return Config{}, nil, err
	}
	l := &loader{config: Default(), rows: table()}
	r := &fileReader{to: l, files: system}
	if err := applyPackaged(r, s.Env); err != nil {
		return Config{}, nil, err
	}
	switch {
	case file == stdinName && s.Stdin == nil:
		err = errNoStdin
	case file == stdinName:
		err = r.apply("stdin", s.Stdin)
	case file != "":
		if l.config.File, err = filepath.Abs(file); err == nil {
			err = r.read(file)
		}
	}
	if err != nil {
		return Config{}, nil, err
	}
	if err := applyEnv(l, s.Env); err != nil {
		return Config{}, nil, err
	}
	for _, f := range flags {
		if err := f.apply(r); err != nil {
			return Config{}, nil, err
		}
	}
	if err := l.config.Validate(); err != nil {
		return Config{}, nil, err
	}
	return l.config, l.unused, nil
}

// A loader collects what the sources say.
type loader struct {
	config Config
	rows   []parameter
	unused []Unused // in the order of their first mention
}

// set gives the parameter the values that were found at the named place. Its
// error does not name the parameter.
func (l *loader) set(p *parameter, values []string, where string) error {
	err := p.set(&l.config, values)
	if !errors.Is(err, errWithoutEffect) {
		return err
	}
	for _, u := range l.unused {
		if lookup(l.rows, u.Name).key() == p.key() {
			return nil
		}
	}
	l.unused = append(l.unused, Unused{Name: p.name, Where: where})
	return nil
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

// unknown names the parameter that was probably meant, if one is close. dashes
// is what stands before a name at this place.
func unknown(rows []parameter, name, dashes string) error {
	shown := dashes + clip(name)
	if s := suggestion(rows, name); s != "" {
		return fmt.Errorf("unknown parameter %q, did you mean %s%s?", shown, dashes, s)
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

// printable returns a name as it is when that is short and fits a line, and
// quoted or cut otherwise.
func printable(name string) string {
	name = clip(name)
	if quoted := strconv.Quote(name); quoted[1:len(quoted)-1] != name {
		return quoted
	}
	return name
}

func clip(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "..."
	}
	return s
}
