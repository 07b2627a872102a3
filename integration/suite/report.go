package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// report writes what is wrong, why tests are skipped, and the table. It
// returns whether nothing is wrong.
func report(w io.Writer, s suite, l *list, verdicts []*verdict) bool {
	fine := true
	for _, v := range verdicts {
		for _, p := range v.problems {
			fine = false
			fmt.Fprintf(w, "unit/%s: ", v.unit)
			if p.test != "" {
				fmt.Fprintf(w, "%q ", p.test)
			}
			fmt.Fprintln(w, p.what)
			for line := range strings.Lines(strings.TrimSpace(p.detail)) {
				fmt.Fprintf(w, "    %s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	for _, v := range verdicts {
		for _, name := range v.unlisted {
			fmt.Fprintf(w, "unit/%s: %q passed and is not in the list\n", v.unit, name)
		}
	}

	fmt.Fprintf(w, "\nWhy tests of %s %s are skipped or differ:\n", s.pkg, s.version)
	count := map[string]int{}
	for _, u := range l.units {
		for _, reason := range u.skip {
			count[reason]++
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, reason := range slices.Sorted(maps.Keys(l.reasons)) {
		fmt.Fprintf(table, "  %d\t%s\t%s\n", count[reason], reason, l.reasons[reason])
	}
	table.Flush()

	fmt.Fprintln(w)
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "unit\tpassed\tskipped\tdiffer\tfailed\t")
	total := verdict{unit: "total"}
	row := func(v *verdict) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t\n", v.unit, v.passed, v.skipped, v.differ, v.failed)
	}
	for _, v := range verdicts {
		row(v)
		total.passed += v.passed
		total.skipped += v.skipped
		total.differ += v.differ
		total.failed += v.failed
	}
	row(&total)
	table.Flush()
	return fine
}
