package command

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestHistogram_BucketsPartition: every time is in exactly the bucket whose
// end is the first not below it, and no bucket is wider than a sixteenth.
func TestHistogram_BucketsPartition(t *testing.T) {
	last := int64(-1)
	for i := range histogramBuckets {
		end := bucketEnd(i)
		if end <= last {
			t.Fatalf("bucket %d ends at %d, the one before at %d", i, end, last)
		}
		if bucketOf(last+1) != i || bucketOf(end) != i {
			t.Fatalf("bucket %d: %d to %d are in buckets %d and %d", i, last+1, end, bucketOf(last+1), bucketOf(end))
		}
		if width := end - last; width > 1 && width > (last+1)/histogramSub {
			t.Fatalf("bucket %d: %d to %d is wider than a sixteenth", i, last+1, end)
		}
		last = end
	}
	if last != 1<<histogramBits-1 || bucketOf(math.MaxInt64) != histogramBuckets-1 || bucketOf(-1) != 0 {
		t.Errorf("ends: %d, %d, %d", last, bucketOf(math.MaxInt64), bucketOf(-1))
	}
}

// TestHistogram_AgainstSortedTimes checks percentiles and steps against the
// times themselves.
func TestHistogram_AgainstSortedTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 1<<histogramBits-1), 1, 60).Draw(t, "times")
		var h, other histogram
		for i, v := range times {
			if i%2 == 0 {
				h.add(v, 1)
			} else {
				other.add(v, 1)
			}
		}
		h.merge(&other)
		slices.Sort(times)
		for _, p := range []float64{0, 50, 99, 100} {
			rank := max(1, int(p/100*float64(len(times))+0.5))
			exact := times[rank-1]
			if got := h.percentile(p); got < exact || got-exact > exact/histogramSub {
				t.Fatalf("p%v of %v: %d, want %d", p, times, got, exact)
			}
		}
		before := int64(0)
		for _, step := range h.steps() {
			if step.atMost <= before {
				t.Fatalf("steps %v do not grow", h.steps())
			}
			before = step.atMost
			// The step's bound is a power of two and the width of Redis's bucket.
			bit := 10
			for (1<<bit+1<<(bit-7)-1)/1000 != int(step.micros) {
				if bit++; bit > histogramBits {
					t.Fatalf("%d µs is no bound of Redis's", step.micros)
				}
			}
			n, _ := slices.BinarySearch(times, int64(1)<<bit)
			if int64(n) != step.atMost {
				t.Fatalf("%d of %v are below 1<<%d, the step says %d", n, times, bit, step.atMost)
			}
		}
		if before != int64(len(times)) || h.total != before {
			t.Fatalf("the last step is %d of %d times, total %d", before, len(times), h.total)
		}
	})
}
