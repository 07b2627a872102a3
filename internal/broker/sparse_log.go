package broker

import (
	"sync/atomic"
	"time"
)

// sparseLogPeriod is the least time between two lines of the same kind, of
// those that clients can cause at will.
const sparseLogPeriod = time.Second

// A sparseLog says when a line that clients can cause may be logged. The zero
// value is ready; any goroutine may call allow.
type sparseLog struct {
	// Atomic.
	next    atomic.Int64 // the time of the next line, in Unix nanoseconds
	skipped atomic.Int64 // lines that were not logged since the last
}

// allow reports whether to log a line now and how many were left out before it.
func (l *sparseLog) allow(now time.Time) (skipped int64, ok bool) {
	next := l.next.Load()
	if now.UnixNano() < next || !l.next.CompareAndSwap(next, now.Add(sparseLogPeriod).UnixNano()) {
		l.skipped.Add(1)
		return 0, false
	}
	return l.skipped.Swap(0), true
}
