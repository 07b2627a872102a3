package config

import (
	"fmt"
	"slices"
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
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") && lookup(table(), args[0]) != nil {
			// As in Redis the dashes of the first name may be missing.
			args = slices.Concat([]string{"--" + args[0]}, args[1:])
		}
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
	name, dashes := strings.CutPrefix(first, "--")
	if !dashes || name == "" {
		return cliFlag{}, nil, fmt.Errorf("unexpected argument %s: parameters are written --name value", quoteArgs(args[:1]))
	}
	f := cliFlag{name: name}
	switch i := strings.IndexAny(name, "= \t\n\v\f\r"); {
	case i < 0:
	case name[i] == '=':
		f.name, f.values = name[:i], []string{name[i+1:]}
	default:
		// Name and values in one argument are a line of a file.
		words, err := splitArgs(name)
		if err != nil || len(words) == 0 {
			return cliFlag{}, nil, fmt.Errorf("unexpected argument %s: parameters are written --name value", quoteArgs(args[:1]))
		}
		f.name, f.values = words[0], words[1:]
	}
	needsValue := needsValue(f.name)
	for args = args[1:]; len(args) > 0; args = args[1:] {
		if beginsFlag(args[0]) && (len(f.values) > 0 || isFlag(args[0], needsValue)) {
			break
		}
		f.values = append(f.values, args[0])
	}
	return f, args, nil
}

func beginsFlag(arg string) bool {
	return strings.HasPrefix(arg, "--") || arg == "-h" || arg == "-v"
}

// needsValue reports whether the named parameter has exactly one value.
func needsValue(name string) bool {
	p := lookup(table(), name)
	return p != nil && (p.isSetting() || p.idle || p.inert) && !p.many && !p.lines
}

// isFlag reports whether an argument behind a name without values so far,
// which looks like a flag, is one. As in Redis the first value may begin with
// dashes: for a name that needs one it is a value, whatever it looks like, and
// otherwise unless it names a parameter.
func isFlag(arg string, needsValue bool) bool {
	name, dashes := strings.CutPrefix(arg, "--")
	if !dashes || name == "help" || name == "version" {
		return true
	}
	if i := strings.IndexAny(name, "= \t"); i >= 0 {
		name = name[:i]
	}
	return !needsValue && (strings.EqualFold(name, includeName) || lookup(table(), name) != nil)
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
