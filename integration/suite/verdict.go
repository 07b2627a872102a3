package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A verdict is an outcome held against the list.
type verdict struct {
	unit string
	// Numbers of tests. Those that fail as the list says differ.
	passed, skipped, differ, failed int
	problems                        []problem // each makes the run fail
	unlisted                        []string  // tests that passed and are not in the list
}

// A problem is one way in which an outcome differs from the list.
type problem struct {
	test   string // "" when it belongs to no test
	what   string
	detail string // the harness's own words, may be empty
}

// judge compares what happened in a unit with the list.
func judge(u *unit, o *outcome) *verdict {
	v := &verdict{unit: u.name}
	for _, b := range u.blocks {
		if !slices.ContainsFunc(slices.Concat(o.faults, o.ignored), b.explains) {
			v.problems = append(v.problems, problem{what: "no fault with this text: " + b.fault})
		}
		for _, name := range b.tests {
			v.skipped++
			if o.passed[name]+o.skipped[name]+len(o.failed[name]) > 0 {
				v.problems = append(v.problems, problem{test: name, what: "is not reached according to the list, but was run"})
			}
		}
	}
	for _, fault := range o.faults {
		if slices.ContainsFunc(u.blocks, func(b block) bool { return b.explains(fault) }) {
			continue
		}
		v.problems = append(v.problems, problem{what: "fault outside of a test", detail: fault})
	}
	for _, name := range o.order {
		for _, detail := range o.failed[name] {
			if slices.Contains(u.differ, name) || slices.Contains(u.either, name) {
				v.differ++
				continue
			}
			v.failed++
			what := "failed"
			if u.pass[name] == 0 {
				what = "failed and is not in the list"
			}
			v.problems = append(v.problems, problem{name, what, detail})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.passed)) {
		v.passed += o.passed[name]
		if slices.Contains(u.differ, name) {
			v.problems = append(v.problems, problem{test: name, what: "fails according to the list, but passed"})
		} else if u.pass[name] == 0 && u.skip[name] == "" {
			v.unlisted = append(v.unlisted, name)
		}
	}
	for _, n := range o.skipped {
		v.skipped += n
	}
	for _, name := range slices.Sorted(maps.Keys(u.pass)) {
		want := u.pass[name]
		got := o.passed[name] + len(o.failed[name])
		if o.skipped[name] > 0 {
			v.problems = append(v.problems, problem{test: name, what: "must pass, but skipped itself"})
		} else if got < want {
			v.failed += want - got
			v.problems = append(v.problems, problem{test: name, what: fmt.Sprintf("must pass %d times, was run %d times", want, got)})
		}
	}
	for _, name := range slices.Concat(u.differ, u.either) {
		if o.passed[name]+len(o.failed[name]) == 0 {
			v.problems = append(v.problems, problem{test: name, what: "is run according to the list, but was not"})
		}
	}
	for _, name := range u.skipped {
		if o.skipped[name] == 0 {
			v.problems = append(v.problems, problem{test: name, what: "is skipped in the list, but the suite has no such test"})
		}
	}
	return v
}

// explains reports whether the fault is the one that keeps the block's tests
// from being run.
func (b block) explains(fault string) bool { return strings.Contains(fault, b.fault) }

// judgeSkipped returns the problem of a skipped test that was run alone: that
// it passes. Such a test belongs among those that must.
func judgeSkipped(name string, o *outcome) []problem {
	if o.passed[name] == 0 || len(o.failed[name]) > 0 || len(o.faults) > 0 {
		return nil
	}
	return []problem{{test: name, what: "is skipped in the list, but passes"}}
}
