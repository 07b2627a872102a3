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
//	unit NAME            what follows belongs to unit/NAME
//	deny TAG             groups of tests with this tag are left out
//	pass                 the tests that follow must pass
//	skip WORD            the tests that follow are skipped, for this reason
//	skip WORD: DETAIL    the same, with what is particular to these
//	differ WORD: DETAIL  the tests that follow are run and must fail, for this
//	                     reason: later ones need the state they leave behind
//	either WORD: DETAIL  the same, but they may as well pass
//	block WORD: FAULT    the tests that follow are not reached, because of a
//	                     fault that contains FAULT before them; the harness
//	                     can skip tests, but not what stands around them
//	<tab>NAME            a test, its name byte for byte
type list struct {
	reasons map[string]string
	units   []*unit // in the order of the text
}

// A unit is one file of tests. A suite may use a test's name more than once.
type unit struct {
	name string         // "pubsub"
	pass map[string]int // how often a test of this name must pass
	// The reason why a test of this name is skipped, fails or is not reached.
	skip map[string]string
	// The keys of skip that the harness is to skip, in the order of the list.
	skipped []string
	// The keys of skip that fail.
	differ []string
	// The keys of skip that pass or fail.
	either []string
	deny   []string // tags
	blocks []block
}

// A block is a group of tests that its own surroundings keep from being run.
type block struct {
	fault string // a part of the fault's text
	tests []string
}

// parseList reads a list. Errors name the line.
func parseList(text string) (*list, error) {
	l := &list{reasons: map[string]string{}}
	var u *unit
	var add func(test string) // puts a test into the current group, nil outside of one
	passing := false          // the current group is one of those that must pass
	for i, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		if test, ok := strings.CutPrefix(line, "\t"); ok {
			if add == nil {
				return nil, fail("test %q stands in no group", test)
			}
			if u.skip[test] != "" || u.pass[test] > 0 && !passing {
				return nil, fail("test %q is skipped and listed a second time", test)
			}
			add(test)
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		reason, detail, _ := strings.Cut(rest, ": ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "reason" && detail != "":
			l.reasons[reason] = detail
		case word == "unit" && rest != "":
			if slices.ContainsFunc(l.units, func(u *unit) bool { return u.name == rest }) {
				return nil, fail("unit %s is listed a second time", rest)
			}
			u = &unit{name: rest, pass: map[string]int{}, skip: map[string]string{}}
			l.units = append(l.units, u)
			add = nil
		case u == nil:
			return nil, fail("stands before the first unit: %q", line)
		case word == "deny" && rest != "":
			u.deny = append(u.deny, rest)
		case line == "pass":
			passing = true
			add = func(test string) { u.pass[test]++ }
		case word != "skip" && word != "differ" && word != "either" && word != "block":
			return nil, fail("not understood: %q", line)
		case l.reasons[reason] == "":
			return nil, fail("no known reason: %q", line)
		case word == "skip":
			passing = false
			add = func(test string) {
				u.skip[test] = reason
				u.skipped = append(u.skipped, test)
			}
		case detail == "":
			return nil, fail("%s needs a detail: %q", word, line)
		case word == "differ":
			passing = false
			add = func(test string) {
				u.skip[test] = reason
				u.differ = append(u.differ, test)
			}
		case word == "either":
			passing = false
			add = func(test string) {
				u.skip[test] = reason
				u.either = append(u.either, test)
			}
		default:
			passing = false
			u.blocks = append(u.blocks, block{fault: detail})
			b := &u.blocks[len(u.blocks)-1]
			add = func(test string) {
				u.skip[test] = reason
				b.tests = append(b.tests, test)
			}
		}
	}
	return l, nil
}
