package command

import (
	"bytes"
	"math"
)

// A streamID is the id of a stream's entry.
type streamID struct{ ms, seq uint64 }

// maxStreamIDBytes is the length from which Redis does not look at an id.
const maxStreamIDBytes = 127

// parseStreamID reads "ms-seq", or "ms" with the seq that is given.
func parseStreamID(b []byte, seq uint64) (streamID, bool) {
	if len(b) > maxStreamIDBytes {
		return streamID{}, false
	}
	first, second, both := bytes.Cut(cString(b), []byte("-"))
	ms, ok := parseUint(first)
	if ok && both {
		seq, ok = parseUint(second)
	}
	return streamID{ms, seq}, ok
}

// parseRangeID reads one end of a range: an id, "-" or "+" for the ends of all
// ids, or "(" and an id that is itself not in the range.
func parseRangeID(b []byte, seq uint64) (id streamID, open, ok bool) {
	if len(b) > 1 && b[0] == '(' {
		id, ok = parseStreamID(b[1:], seq)
		return id, true, ok
	}
	switch string(b) {
	case "-":
		return streamID{}, false, true
	case "+":
		return streamID{math.MaxUint64, math.MaxUint64}, false, true
	}
	id, ok = parseStreamID(b, seq)
	return id, false, ok
}

func (c *call) xrange() {
	start, open, ok := parseRangeID(c.args[2], 0)
	switch {
	case !ok:
		c.fail(errStreamID)
		return
	case open && start == streamID{math.MaxUint64, math.MaxUint64}:
		c.fail(errStreamStart)
		return
	}
	end, open, ok := parseRangeID(c.args[3], math.MaxUint64)
	switch {
	case !ok:
		c.fail(errStreamID)
		return
	case open && end == streamID{}:
		c.fail(errStreamEnd)
		return
	}
	for args := c.args[4:]; len(args) > 0; args = args[2:] {
		if len(args) < 2 || !is(args[0], "COUNT") {
			c.fail(errSyntax)
			return
		}
		if _, ok := parseInt(args[1]); !ok {
			c.fail(errNotInteger)
			return
		}
	}
	c.reply().Array(0)
}
