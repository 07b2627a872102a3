package main

import (
	"fmt"
	"path"
	"slices"
	"testing"
)

func TestWorkloads_Rows(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range workloads() {
		if seen[w.Name] || w.Name == "" || w.Title == "" {
			t.Errorf("%q: a name must be there and be unique, a title must be there", w.Name)
		}
		seen[w.Name] = true
		if w.Channels > 1_000_000 {
			t.Errorf("%s: matchingPatterns are written for at most a million channels", w.Name)
		}
		if w.Matching > len(matchingPatterns) {
			t.Errorf("%s: %d matching patterns, there are %d", w.Name, w.Matching, len(matchingPatterns))
		}
		if w.Patterns > 0 {
			if ok, err := path.Match(fmt.Sprintf(w.PatternForm, 1), fmt.Sprintf(channelForm, 1)); ok || err != nil {
				t.Errorf("%s: pattern form %q must not match a channel: %v, %v", w.Name, w.PatternForm, ok, err)
			}
		}
		requests := w.Publishers + w.Churners
		switch w.Drive {
		case drivePublish, driveChurn:
			if requests == 0 || w.Pipeline == 0 {
				t.Errorf("%s sends nothing", w.Name)
			}
		case driveLockstep, driveStall:
			// Both publish one message at a time from one connection.
			if w.Publishers != 1 || w.Pipeline != 1 || w.Channels != 1 || w.Subscribers == 0 {
				t.Errorf("%s: one by one needs one publisher, one channel and subscribers", w.Name)
			}
		case driveIdle:
			if w.Conns == 0 {
				t.Errorf("%s opens no connection", w.Name)
			}
		default:
			t.Errorf("%s: drive %q", w.Name, w.Drive)
		}
		(&sample{}).measureBy(w.By) // panics on a measure it does not know
	}
}

func TestMatchingPatterns_MatchEveryChannelOnce(t *testing.T) {
	sorted := slices.Sorted(slices.Values(matchingPatterns[:]))
	if len(slices.Compact(sorted)) != len(matchingPatterns) {
		t.Error("two patterns are the same and would be one subscription")
	}
	for _, pattern := range matchingPatterns {
		for _, n := range []int{0, 1, 123_456, 999_999} {
			if ok, err := path.Match(pattern, fmt.Sprintf(channelForm, n)); !ok || err != nil {
				t.Errorf("%s does not match channel %d", pattern, n)
			}
		}
	}
}

func TestSelectWorkloads(t *testing.T) {
	all := workloads()
	cases := []struct {
		list string
		want []string
	}{
		{"W3p30", []string{"W3p30"}},
		{"W3p1, W1p30", []string{"W1p30", "W3p1"}},
		{"W1p*,W1p1", []string{"W1p1", "W1p30"}},
		{defaultSelection, []string{"W1p1", "W1p30", "W3p1", "W3p30"}},
		{"W11", nil},
		{"W1", nil},
		{"W1p1,", nil},
		{"[", nil},
	}
	for _, tc := range cases {
		rows, err := selectWorkloads(all, tc.list)
		var got []string
		for _, w := range rows {
			got = append(got, w.Name)
		}
		if !slices.Equal(got, tc.want) || (err != nil) != (tc.want == nil) {
			t.Errorf("%q: %v, %v, want %v", tc.list, got, err, tc.want)
		}
	}
	if rows, err := selectWorkloads(all, "all"); err != nil || len(rows) != len(all) {
		t.Errorf("all: %d of %d rows, %v", len(rows), len(all), err)
	}
}

func TestWindowBytes(t *testing.T) {
	cases := []struct {
		name       string
		deliveries int
		perPublish int64
		want       int64
	}{
		{"no subscribers", 0, 0, 0},
		{"small messages are bounded by number", 8, 8 * 70, windowDeliveries * 70},
		{"large messages are bounded by bytes", 100, 100 * 16_500, windowTotalBytes},
		{"never less than one to all", 100, 100 << 20, 100 << 20},
	}
	for _, tc := range cases {
		if got := windowBytes(tc.deliveries, tc.perPublish); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}
