package main

import (
	"slices"
	"testing"
	"time"
)

func TestSpreadOf(t *testing.T) {
	cases := []struct {
		values []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{5, 1, 3}, spread{3, 1, 5}},
		{[]float64{4, 1, 8, 2}, spread{3, 1, 8}},
	}
	for _, tc := range cases {
		before := slices.Clone(tc.values)
		if got := spreadOf(tc.values); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.values, got, tc.want)
		}
		if !slices.Equal(before, tc.values) {
			t.Errorf("%v was changed to %v", before, tc.values)
		}
	}
}

func TestRatios_PairRuns(t *testing.T) {
	// The machine slowed down after two rounds, and the last round of the
	// second is missing: the medians say 150/27.5, every neighbouring pair 3.
	got := ratios([]float64{15, 15, 150, 150, 150}, []float64{5, 5, 50, 50})
	if want := []float64{3, 3, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := ratios([]float64{1, 2}, []float64{0, 4}); !slices.Equal(got, []float64{0.5}) {
		t.Errorf("a zero divisor is left out: %v", got)
	}
}

func TestPercentile(t *testing.T) {
	var values []time.Duration
	for i := 100; i > 0; i-- {
		values = append(values, time.Duration(i))
	}
	for p, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := percentile(values, p); got != want {
			t.Errorf("percentile %v: %d, want %d", p, got, want)
		}
	}
	if got := percentile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}
