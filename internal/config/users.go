package config

import (
	"errors"
	"slices"
	"strings"
)

// maxUserLines bounds the user directives of a configuration; what they are
// made of is bounded with the text they stand in.
const maxUserLines = 100_000

var (
	errManyUsers = errors.New("too many users, at most 100000 are accepted here")
	errUserName  = errors.New("user names can't contain spaces or null characters")
	errNoUser    = errors.New("argument contains no user name")
)

// userLines is a directive that may be repeated: the name of a user and its
// rules. Rules are looked at by whoever enforces them.
func userLines(name, doc string, field func(*Config) *[][]string) parameter {
	check := func(words []string) error {
		switch {
		case len(words) == 0 || words[0] == "":
			return errNoUser
		case hasSpaceOrNUL(words[0]):
			return errUserName
		}
		return nil
	}
	return secret(hidden(parameter{
		name: name, args: "NAME RULE ...", doc: doc, lines: true, merges: true,
		parse: func(c *Config, values []string) error {
			if len(values) == 0 {
				return errArgCount
			}
			if len(values) == 1 && hasSpaceOrNUL(values[0]) {
				// One argument, as in the environment, is a line.
				var err error
				if values, err = splitArgs(values[0]); err != nil {
					return err
				}
			}
			if len(*field(c)) >= maxUserLines {
				return errManyUsers
			}
			err := check(values)
			if err == nil {
				*field(c) = append(*field(c), slices.Clone(values))
			}
			return err
		},
		get: func(c *Config) string {
			lines := make([]string, len(*field(c)))
			for i, words := range *field(c) {
				lines[i] = quoteLine(words)
			}
			return strings.Join(lines, "\n")
		},
		write: func(c, _ *Config) []string {
			lines := make([]string, len(*field(c)))
			for i, words := range *field(c) {
				lines[i] = quoteLine(words)
			}
			return lines
		},
		check: func(c *Config) error {
			if len(*field(c)) > maxUserLines {
				return errManyUsers
			}
			for _, words := range *field(c) {
				if err := check(words); err != nil {
					return err
				}
			}
			return nil
		},
	}))
}

// hasSpaceOrNUL reports whether s has a byte that no name of a user may have.
func hasSpaceOrNUL(s string) bool {
	for i := range len(s) {
		if isSpace(s[i]) || s[i] == 0 {
			return true
		}
	}
	return false
}
