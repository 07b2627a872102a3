package main

import (
	"slices"
	"strings"
	"testing"
)

// theUnit is what the outcomes below are judged by.
func theUnit(t *testing.T) *unit {
	t.Helper()
	l, err := parseList("reason keyspace: needs keys\nunit one\npass\n\ta\n\tb\n\tb\nskip keyspace\n\tkeys\n")
	if err != nil {
		t.Fatal(err)
	}
	return l.units[0]
}

func TestJudge(t *testing.T) {
	const end = "\nThe End\n"
	const good = "[ok]: a (1 ms)\n[ok]: b (1 ms)\n[ok]: b (2 ms)\n[skip]: keys\n"
	const in = " in tests/unit/one.tcl"
	cases := []struct {
		name, output            string
		passed, skipped, failed int
		problems                []string // test: what
		unlisted                []string
	}{
		{"as listed", good + end, 3, 1, 0, nil, nil},
		{"one fails", "[err]: a" + in + "\nExpected 1\n[ok]: b (1 ms)\n[ok]: b (2 ms)\n[skip]: keys\n" + end,
			2, 1, 1, []string{"a: failed"}, nil},
		{"one of two of a name is gone", "[ok]: a (1 ms)\n[ok]: b (1 ms)\n[skip]: keys\n" + end,
			2, 1, 1, []string{"b: must pass 2 times, was run 1 times"}, nil},
		{"skips itself", "[skip]: a" + in + ": no such system\n[ok]: b (1 ms)\n[ok]: b (2 ms)\n[skip]: keys\n" + end,
			2, 2, 0, []string{"a: must pass, but skipped itself"}, nil},
		{"skipped test is gone", "[ok]: a (1 ms)\n[ok]: b (1 ms)\n[ok]: b (2 ms)\n" + end,
			3, 0, 0, []string{"keys: is skipped in the list, but the suite has no such test"}, nil},
		{"new test passes", good + "[ok]: new (1 ms)\n" + end, 4, 1, 0, nil, []string{"new"}},
		{"new test fails", good + "[err]: new" + in + "\n" + end,
			3, 1, 1, []string{"new: failed and is not in the list"}, nil},
		{"fault between tests", good + "[err]: unknown command 'set'\nwhile executing\n" + end,
			3, 1, 0, []string{": fault outside of a test"}, nil},
		{"exception", good + "[exception]: Executing test client: oops\n",
			3, 1, 0, []string{": fault outside of a test", ": fault outside of a test"}, nil},
		{"stalled", good + "[TIMEOUT]: clients state report follows.\nsock1 => (IN PROGRESS) c\n" + end,
			3, 1, 0, []string{": fault outside of a test"}, nil},
		{"cut off", good, 3, 1, 0, []string{": fault outside of a test"}, nil},
		// What follows the end repeats the failures.
		{"the summary", good + end + "*** [err]: a" + in + "\n[err]: a" + in + "\n", 3, 1, 0, nil, nil},
		{"lines of no test", "[ready]: 17\nTesting unit/one\n" + good + "[ignore]: large memory flag not provided\n[1/1 done]: unit/one (0 seconds)\n" + end,
			3, 1, 0, nil, nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			v := judge(theUnit(t), parseOutput(tc.output))
			var problems []string
			for _, p := range v.problems {
				problems = append(problems, p.test+": "+p.what)
			}
			if v.passed != tc.passed || v.skipped != tc.skipped || v.failed != tc.failed {
				t.Errorf("passed %d, skipped %d, failed %d, want %d, %d, %d",
					v.passed, v.skipped, v.failed, tc.passed, tc.skipped, tc.failed)
			}
			if !slices.Equal(problems, tc.problems) {
				t.Errorf("problems %q, want %q", problems, tc.problems)
			}
			if !slices.Equal(v.unlisted, tc.unlisted) {
				t.Errorf("not in the list %q, want %q", v.unlisted, tc.unlisted)
			}
		})
	}
}

func TestJudge_Differ(t *testing.T) {
	l, err := parseList("reason changed: as Redis 8\nunit one\npass\n\ta\ndiffer changed: a text\n\tb\n")
	if err != nil {
		t.Fatal(err)
	}
	const a, b = "[ok]: a (1 ms)\n", "b in tests/unit/one.tcl\nExpected\n"
	for output, want := range map[string][]string{
		a + "[err]: " + b + "The End\n":                  nil,
		a + "[ok]: b (1 ms)\nThe End\n":                  {"b: fails according to the list, but passed"},
		a + "The End\n":                                  {"b: is run according to the list, but was not"},
		"[err]: a" + b[1:] + "[err]: " + b + "The End\n": {"a: failed"},
	} {
		v := judge(l.units[0], parseOutput(output))
		var problems []string
		for _, p := range v.problems {
			problems = append(problems, p.test+": "+p.what)
		}
		if !slices.Equal(problems, want) || len(v.unlisted) > 0 {
			t.Errorf("%q: problems %q, want %q", output, problems, want)
		}
		if (v.differ == 1) != strings.Contains(output, "[err]: b") {
			t.Errorf("%q: %d differ", output, v.differ)
		}
	}
}

func TestJudge_Either(t *testing.T) {
	l, err := parseList("reason own: decided otherwise\nunit one\neither own: by chance\n\tb\n")
	if err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string]struct{ passed, differ, problems int }{
		"[ok]: b (1 ms)\nThe End\n":                           {1, 0, 0},
		"[err]: b in tests/unit/one.tcl\nExpected\nThe End\n": {0, 1, 0},
		"The End\n": {0, 0, 1},
	} {
		v := judge(l.units[0], parseOutput(output))
		if v.passed != want.passed || v.differ != want.differ || len(v.problems) != want.problems || len(v.unlisted) > 0 {
			t.Errorf("%q: %+v, want %+v", output, v, want)
		}
	}
}

func TestJudge_Block(t *testing.T) {
	l, err := parseList("reason keyspace: needs keys\nunit one\npass\n\ta\nblock keyspace: 'set'\n\tb\n\tc\n")
	if err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string][]string{
		"[ok]: a (1 ms)\n[err]: unknown command 'set'\nwhile executing\nThe End\n":              nil,
		"[ok]: a (1 ms)\n[ignore]: Tag: 'set' denied\nThe End\n":                                nil,
		"[ok]: a (1 ms)\nThe End\n":                                                             {": no fault with this text: 'set'"},
		"[ok]: a (1 ms)\n[err]: unknown command 'set'\n[ok]: b (1 ms)\nThe End\n":               {"b: is not reached according to the list, but was run"},
		"[ok]: a (1 ms)\n[err]: unknown command 'set'\n[err]: unknown command 'get'\nThe End\n": {": fault outside of a test"},
		"[ok]: a (1 ms)\n[err]: no\nCONFIGURATION:'set'\nx\nERROR:port\nThe End\n":              {": no fault with this text: 'set'", ": fault outside of a test"},
		"[ok]: a (1 ms)\n[err]: no\nCONFIGURATION:port 1\nx\nERROR:'set' is refused\nThe End\n": nil,
		"[ok]: a (1 ms)\n[exception]: Executing test client: unknown 'set'\nThe End\n":          nil,
	} {
		v := judge(l.units[0], parseOutput(output))
		var problems []string
		for _, p := range v.problems {
			problems = append(problems, p.test+": "+p.what)
		}
		if v.passed+v.failed < 1 || v.skipped != 2 || !slices.Equal(problems, want) {
			t.Errorf("%q: skipped %d, problems %q, want %q", output, v.skipped, problems, want)
		}
	}
}

func TestParseOutput_KeepsDetailsWithTheirTest(t *testing.T) {
	o := parseOutput("[err]: a (b) in tests/unit/one.tcl\nExpected 'x'\n    while executing\n[ok]: takes (3 ms) long (4 ms)\nThe End\n")
	if got, want := o.failed["a (b)"], []string{"Expected 'x'\n    while executing"}; !slices.Equal(got, want) {
		t.Errorf("details %q, want %q", got, want)
	}
	if o.passed["takes (3 ms) long"] != 1 {
		t.Errorf("passed %v", o.passed)
	}
}

func TestJudgeSkipped(t *testing.T) {
	for output, want := range map[string]int{
		"[ok]: keys (1 ms)\nThe End\n":                                   1,
		"[err]: keys in tests/unit/one.tcl\nThe End\n":                   0,
		"[skip]: keys\nThe End\n":                                        0,
		"[ok]: keys (1 ms)\n":                                            0,
		"[ok]: keys (1 ms)\n[err]: keys in tests/unit/a.tcl\nThe End\n":  0,
		"[ok]: keys (1 ms)\n[err]: Can't start the server\nx\nThe End\n": 0,
	} {
		if got := judgeSkipped("keys", parseOutput(output)); len(got) != want {
			t.Errorf("%q: %v, want %d problems", output, got, want)
		}
	}
}

func TestReport(t *testing.T) {
	l, err := parseList("reason keyspace: needs keys\nunit one\npass\n\ta\nskip keyspace\n\tkeys\n")
	if err != nil {
		t.Fatal(err)
	}
	s := suite{pkg: "redis", version: "7.0.15"}
	var out strings.Builder
	if !report(&out, s, l, []*verdict{{unit: "one", passed: 1, skipped: 1, differ: 2}}) {
		t.Error("a run that agrees with the list is said to differ")
	}
	for _, line := range []string{"1  keyspace  needs keys", "one       1        1       2       0"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
	out.Reset()
	broken := &verdict{unit: "one", failed: 1, problems: []problem{{"a", "failed", "Expected 1\nhere"}}}
	if report(&out, s, l, []*verdict{broken}) {
		t.Error("a run with a failure is said to agree")
	}
	if want := "unit/one: \"a\" failed\n    Expected 1\n    here\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("report\n%swant first\n%s", out.String(), want)
	}
}
