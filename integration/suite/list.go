package main

import (
	"fmt"
	"slices"
	"strings"
)

// A list says of every test of some units whether it must pass or is skipped.
//
// Its text has one of these per line; blank lines and lines that begin with #
// mean nothing:
//
//	reason WORD: why tests are skipped under this word
//	unit NAME            the tests that follow belong to unit/NAME
//	pass                 the tests that follow must pass
//	skip WORD            the tests that follow are skipped, for this reason
//	skip WORD: DETAIL    the same, with what is particular to these
//	<tab>NAME            a test, its name byte for byte
type list struct {
	reasons map[string]string
	units   []*unit // in the order of the text
}

// A unit is one file of tests. A suite may use a test's name more than once.
type unit struct {
	name string         // "pubsub"
	pass map[string]int // how often a test of this name must pass
	skip map[string]string
	// The keys of skip in the order of the list.
	skipped []string
}

// parseList reads a list. Errors name the line.
func parseList(text string) (*list, error) {
	l := &list{reasons: map[string]string{}}
	var u *unit
	reason := ""     // of the tests that follow
	inPass := false  // they must pass
	inGroup := false // there is a group at all
	for i, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		if name, ok := strings.CutPrefix(line, "\t"); ok {
			if !inGroup {
				return nil, fail("test %q stands under neither pass nor skip", name)
			}
			if _, twice := u.skip[name]; twice || !inPass && u.pass[name] > 0 {
				return nil, fail("test %q is skipped and listed a second time", name)
			}
			if inPass {
				u.pass[name]++
				continue
			}
			u.skip[name] = reason
			u.skipped = append(u.skipped, name)
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "reason":
			name, why, ok := strings.Cut(rest, ": ")
			if !ok || why == "" {
				return nil, fail("a reason needs a word and a text: %q", line)
			}
			l.reasons[name] = why
		case word == "unit" && rest != "":
			if slices.ContainsFunc(l.units, func(u *unit) bool { return u.name == rest }) {
				return nil, fail("unit %s is listed a second time", rest)
			}
			u = &unit{name: rest, pass: map[string]int{}, skip: map[string]string{}}
			l.units = append(l.units, u)
			inGroup = false
		case u != nil && line == "pass":
			inGroup, inPass = true, true
		case u != nil && word == "skip":
			name, _, _ := strings.Cut(rest, ":")
			if l.reasons[name] == "" {
				return nil, fail("skip without a known reason: %q", line)
			}
			inGroup, inPass, reason = true, false, name
		default:
			return nil, fail("not understood: %q", line)
		}
	}
	return l, nil
}
