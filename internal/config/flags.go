package config

import (
	"fmt"
	"strings"
)

// A cliFlag is one parameter on the command line.
type cliFlag struct {
	name   string // without the dashes, as it was written
	values []string
}

// parseArgs takes the command line apart: the name of the configuration file,
// "" for none, and the flags. args is not retained, the strings in it are.
func parseArgs(args []string) (file string, flags []cliFlag, err error) {
	if len(args) > 0 && isFileName(args[0]) {
		file, args = args[0], args[1:]
	}
	for len(args) > 0 {
		var f cliFlag
		if f, args, err = nextFlag(args); err != nil {
			return "", nil, err
		}
		flags = append(flags, f)
	}
	return file, flags, nil
}

// isFileName reports whether the first argument names a configuration file.
func isFileName(arg string) bool {
	return arg == stdinName || arg != "" && arg[0] != '-'
}

// nextFlag takes the first flag and its values off args, which is not empty.
func nextFlag(args []string) (cliFlag, []string, error) {
	first := args[0]
	switch first {
	case "-h", "--help":
		return cliFlag{}, nil, ErrHelp
	case "-v", "--version":
		return cliFlag{}, nil, ErrVersion
	}
	name, isFlag := strings.CutPrefix(first, "--")
	if !isFlag || name == "" {
		return cliFlag{}, nil, fmt.Errorf("unexpected argument %s: parameters are written --name value", quoteArgs(args[:1]))
	}
	f := cliFlag{name: name}
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

// apply sets the parameter that f names.
func (f cliFlag) apply(r *fileReader) error {
	if strings.EqualFold(f.name, includeName) {
		if err := r.include(f.values); err != nil {
			return fmt.Errorf("--%s: %w", strings.TrimSpace(includeName+" "+quoteArgs(f.values)), err)
		}
		return nil
	}
	p := lookup(r.to.rows, f.name)
	if p == nil {
		return unknown(r.to.rows, f.name, "--")
	}
	if err := r.to.set(p, f.values, "command line"); err != nil {
		return fmt.Errorf("--%s: %w", strings.TrimSpace(p.name+" "+p.shown(f.values)), err)
	}
	return nil
}
