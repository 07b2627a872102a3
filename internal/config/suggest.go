package config

import "strings"

// suggestion returns the name of the row closest to name, or "" when none is
// close enough to be what was meant.
func suggestion(rows []parameter, name string) string {
	if len(name) > maxQuoted {
		return ""
	}
	name = strings.ToLower(name)
	best, bestDistance := "", len(name)/3+2
	for _, p := range rows {
		if d := editDistance(name, p.name); d < bestDistance {
			best, bestDistance = p.name, d
		}
	}
	return best
}

// editDistance returns the number of single-byte insertions, deletions,
// substitutions and swaps of neighbours between a and b.
func editDistance(a, b string) int {
	// Three rows of the table of distances between prefixes are enough: a
	// swap looks two back.
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, prev, row = prev, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitute := prev[j-1]
			if a[i-1] != b[j-1] {
				substitute++
			}
			row[j] = min(substitute, prev[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
