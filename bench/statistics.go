package main

import (
	"slices"
	"time"
)

// A spread is the median and the extremes of some runs.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf returns the spread of values, which it does not change. An even
// number of values has the mean of the middle two as its median. The spread of
// nothing is zero.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	v := slices.Sorted(slices.Values(values))
	mid := v[len(v)/2]
	if len(v)%2 == 0 {
		mid = (v[len(v)/2-1] + mid) / 2
	}
	return spread{Median: mid, Min: v[0], Max: v[len(v)-1]}
}

// ratios returns a[i]/b[i] for the runs both have, leaving out those where b
// is zero. Runs with the same index stood next to each other in time.
func ratios(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			out = append(out, a[i]/b[i])
		}
	}
	return out
}

// percentile returns the value below which the fraction p of values lies,
// 0 <= p <= 1. It sorts values in place; of none it is zero.
func percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(float64(len(values))*p), len(values)-1)]
}
