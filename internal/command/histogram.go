package command

import "math/bits"

// A histogram counts times in log-linear buckets: each power of two is divided
// into 16 of equal width, so a time is known to 1/16 of itself. This is the
// scheme of HdrHistogram (hdrhistogram.org) with fewer digits; 4 KiB hold times
// up to two minutes.
type histogram struct {
	total int64
	n     [histogramBuckets]int64
}

const (
	histogramDigits = 4 // binary digits of a time that tell its bucket
	histogramSub    = 1 << histogramDigits

	// Times of 2^histogramBits nanoseconds or more count as just below that.
	histogramBits    = 37
	histogramBuckets = (histogramBits - histogramDigits + 1) * histogramSub
)

// bucketOf returns the index of the bucket of a time in nanoseconds. Below
// histogramSub every number has a bucket of its own.
func bucketOf(nanos int64) int {
	v := uint64(min(max(nanos, 0), 1<<histogramBits-1))
	if v < histogramSub {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - histogramDigits
	return shift*histogramSub + int(v>>shift)
}

// bucketEnd returns the largest time that falls into a bucket.
func bucketEnd(i int) int64 {
	if i < 2*histogramSub {
		return int64(i)
	}
	shift := i/histogramSub - 1
	return (int64(i%histogramSub+histogramSub)+1)<<shift - 1
}

// add counts n times.
func (h *histogram) add(nanos, n int64) {
	h.total += n
	h.n[bucketOf(nanos)] += n
}

// merge adds what another histogram counted.
func (h *histogram) merge(o *histogram) {
	h.total += o.total
	for i, n := range o.n {
		h.n[i] += n
	}
}

// percentile returns the largest time of the bucket in which the given part of
// all times, 0 to 100, is reached.
func (h *histogram) percentile(p float64) int64 {
	rank := max(1, int64(p/100*float64(h.total)+0.5))
	seen := int64(0)
	for i, n := range h.n {
		seen += n
		if seen >= rank {
			return bucketEnd(i)
		}
	}
	return 0
}

// A histogramStep says how many times are not over a bound.
type histogramStep struct{ micros, atMost int64 }

// steps returns the cumulative distribution by powers of two of nanoseconds,
// from 1024 on, those alone at which something is added. The bounds in
// microseconds are those that Redis shows, where a power of two is the lower
// end of a bucket and the upper end of that bucket is meant.
func (h *histogram) steps() []histogramStep {
	const firstBit, redisDigits = 10, 7
	var out []histogramStep
	seen, next := int64(0), 0
	for bit := firstBit; bit <= histogramBits; bit++ {
		before := seen
		for next < histogramBuckets && bucketEnd(next) < 1<<bit {
			seen += h.n[next]
			next++
		}
		if seen > before {
			out = append(out, histogramStep{(1<<bit + 1<<(bit-redisDigits) - 1) / 1000, seen})
		}
	}
	return out
}

// times returns the histogram of a command, which it makes at the first use.
func (c *counters) times(number int) *histogram {
	if c.histograms == nil {
		c.histograms = make([]*histogram, len(c.commands))
	}
	if c.histograms[number] == nil {
		c.histograms[number] = new(histogram)
	}
	return c.histograms[number]
}
