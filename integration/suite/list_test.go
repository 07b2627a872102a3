package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestParseList(t *testing.T) {
	l, err := parseList(`# comment
reason keyspace: needs keys
reason changed: a later version answers otherwise

unit one
pass
	a test
	twice
	twice
	 blank first
skip keyspace
	keys
skip changed: since 9.9 it says so
	texts

unit two/deep
deny slow
block keyspace: no file: x
	keys
	more
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.units) != 2 || l.units[0].name != "one" || l.units[1].name != "two/deep" {
		t.Fatalf("units %v", l.units)
	}
	u := l.units[0]
	if want := map[string]int{"a test": 1, "twice": 2, " blank first": 1}; !maps.Equal(u.pass, want) {
		t.Errorf("pass %v, want %v", u.pass, want)
	}
	if want := map[string]string{"keys": "keyspace", "texts": "changed"}; !maps.Equal(u.skip, want) {
		t.Errorf("skip %q, want %q", u.skip, want)
	}
	deep := l.units[1]
	if len(deep.blocks) != 1 || deep.blocks[0].fault != "no file: x" || !slices.Equal(deep.blocks[0].tests, []string{"keys", "more"}) {
		t.Errorf("blocks %+v", deep.blocks)
	}
	if deep.skip["more"] != "keyspace" || len(deep.skipped) > 0 || !slices.Equal(deep.deny, []string{"slow"}) {
		t.Errorf("unit %+v", deep)
	}
	if want := []string{"keys", "texts"}; !slices.Equal(u.skipped, want) {
		t.Errorf("skipped %q, want %q", u.skipped, want)
	}
}

func TestParseList_RefusesWhatIsAmbiguous(t *testing.T) {
	const head = "reason keyspace: needs keys\n"
	for name, text := range map[string]string{
		"test without unit":        "\ta\n",
		"test without group":       "unit a\n\tb\n",
		"group of the unit before": "unit a\npass\n\tb\nunit c\n\td\n",
		"passes and is skipped":    "unit a\npass\n\tb\nskip keyspace\n\tb\n",
		"skipped and passes":       "unit a\nskip keyspace\n\tb\npass\n\tb\n",
		"skipped twice":            "unit a\nskip keyspace\n\tb\n\tb\n",
		"unit twice":               "unit a\nunit a\n",
		"unknown reason":           "unit a\nskip because\n",
		"reason without text":      "reason because\n",
		"pass without unit":        "pass\n",
		"skip without unit":        "skip keyspace\n",
		"differ without detail":    "unit a\ndiffer keyspace\n",
		"block without fault":      "unit a\nblock keyspace\n",
		"blocked and skipped":      "unit a\nblock keyspace: x\n\tb\nskip keyspace\n\tb\n",
		"tag without unit":         "deny slow\n",
		"unknown word":             "unit a\npending\n",
		"spaces for a tab":         "unit a\npass\n  b\n",
	} {
		if _, err := parseList(head + text); err == nil {
			t.Errorf("%s: no error", name)
		} else if !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%s: error without line: %v", name, err)
		}
	}
}

// What is committed must at least be readable: nothing else reads it before a
// machine has fetched the suites.
func TestLists(t *testing.T) {
	for name, s := range suites() {
		l, err := parseList(s.list)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		used := map[string]bool{}
		for _, u := range l.units {
			if len(u.pass) == 0 && len(u.skip) == 0 {
				t.Errorf("%s: unit %s has no tests", name, u.name)
			}
			for test, reason := range u.skip {
				used[reason] = true
				// The harness would take it for a regular expression.
				if strings.HasPrefix(test, "/") {
					t.Errorf("%s: %q cannot be skipped by name", name, test)
				}
			}
		}
		for reason := range l.reasons {
			if !used[reason] {
				t.Errorf("%s: nothing is skipped for %q", name, reason)
			}
		}
	}
}
