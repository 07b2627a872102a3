package resp

import "math"

// Bounds on what a client may send before it has authenticated, from Redis.
const (
	UnauthenticatedArgs      = 10    // most arguments of one command
	UnauthenticatedBulkBytes = 16384 // most bytes of one argument
)

const (
	maxArgs            = 1<<31 - 1
	defaultBulkBytes   = 512 << 20
	defaultInlineBytes = 64 << 10

	// minLineBytes is more than the longest length line that can be valid
	// (type byte, sign, 19 digits), so the line limit cannot contradict the
	// number it bounds.
	minLineBytes = 64

	// maxBulkBytes keeps offset arithmetic free of overflow however high
	// BulkBytes is set.
	maxBulkBytes = math.MaxInt / 2
)

// Limits are the named limits the decoder checks before it uses a number from
// the wire. A limit that is 0 means its default, at the price of the decoder's
// slow path.
type Limits struct {
	// Args is the most arguments of one multibulk command, the command's name
	// included. Values above 1<<31-1 mean 1<<31-1, as in Redis.
	Args int

	// BulkBytes is the most bytes of one argument (proto-max-bulk-len).
	BulkBytes int

	// InlineBytes is the most bytes before the line end of an inline command,
	// and before the line end of a count or length. Values under 64 mean 64.
	InlineBytes int

	// Unauthenticated adds UnauthenticatedArgs and UnauthenticatedBulkBytes
	// for a client that has yet to log in. The numbers have error texts of
	// their own, so they are not expressed by lower Args and BulkBytes.
	Unauthenticated bool
}

// DefaultLimits returns Redis's limits for an authenticated client: 1<<31-1
// arguments of up to 512 MiB, and lines of up to 64 KiB.
func DefaultLimits() Limits {
	return Limits{Args: maxArgs, BulkBytes: defaultBulkBytes, InlineBytes: defaultInlineBytes}
}

// UnauthenticatedLimits returns DefaultLimits with the bounds for a client that
// has yet to log in: 10 arguments of up to 16384 bytes.
func UnauthenticatedLimits() Limits {
	l := DefaultLimits()
	l.Unauthenticated = true
	return l
}

func (l *Limits) args() int64 {
	if l.Args <= 0 {
		return maxArgs
	}
	return min(int64(l.Args), maxArgs)
}

func (l *Limits) bulkBytes() int64 {
	if l.BulkBytes <= 0 {
		return defaultBulkBytes
	}
	return int64(min(l.BulkBytes, maxBulkBytes))
}

func (l *Limits) lineBytes() int {
	if l.InlineBytes <= 0 {
		return defaultInlineBytes
	}
	return max(l.InlineBytes, minLineBytes)
}
