package shard

import (
	"broker/channelstore"
	"broker/resp"
)

// respPush is the protocol in which a session can be told of lost messages
// between others.
const respPush = resp.RESP3

// A backlog holds what is delivered to a session that is behind and may lose
// messages. Unlike an outbox it knows where each message begins. It stands
// behind the outbox, which is refilled from it in pieces; replies and acks
// that are appended meanwhile stand in it too, in their place, and are never
// dropped.
//
// Owned by the loop (invariant one-loop).
type backlog struct {
	entries []entry
	head    int // entries[:head] have left

	// w.B holds replies behind the last entry.
	w resp.Writer

	bytes    int64 // in entries, dropped ones not counted
	messages int64 // bytes of those that may be dropped
	dead     int   // dropped entries among entries[head:]
	oldest   int   // no entry before this one may be dropped

	// newest is where the newest message of a channel stands, counted from the
	// first entry ever; kept once a conflating policy has been met.
	newest map[messageKey]int
	gone   int // entries that have left the slice for good

	gaps gaps // lost behind the last entry

	// See appendBehind, which does the same for an outbox.
	slabOwed, toCopy int
	lastHead         []byte
}

// An entry is a message, or bytes of the session's own.
type entry struct {
	undelivered
	own  bool // may not be dropped
	gone bool // dropped
	gaps gaps // lost in front of it
}

// An undelivered is one frame for one subscription.
type undelivered struct {
	sub  *channelstore.Subscription[*Session]
	head []byte
	body []byte // nil for small ones
}

func (m *undelivered) size() int64 { return int64(len(m.head) + len(m.body)) }

// channel returns the name of the channel that the message was published to.
func (m *undelivered) channel() string {
	if m.sub.Kind() != channelstore.Patterns {
		return m.sub.Name()
	}
	return string(resp.PatternMessageChannel(m.head))
}

// A messageKey names what conflating keeps the newest of.
type messageKey struct {
	sub     *channelstore.Subscription[*Session]
	channel string
}

// add appends a message under a policy and returns how many were lost by that,
// itself perhaps.
func (q *backlog) add(m undelivered, policy SlowPolicy, channel string, notify bool) (lost int64) {
	key := messageKey{m.sub, channel}
	if policy.Kind == SlowConflate {
		if q.newest == nil {
			q.newest = map[messageKey]int{}
		}
		if i, ok := q.newest[key]; ok && i >= q.gone+q.head {
			lost += q.drop(i-q.gone, notify)
		}
	}
	if policy.Kind != SlowDisconnect {
		for q.messages+m.size() > policy.LimitBytes {
			if policy.Kind == SlowDropNewest || !q.dropOldest(&lost, notify) {
				if notify {
					q.gaps.add(channel, 1)
				}
				return lost + 1
			}
		}
	}
	q.sealOwn()
	e := entry{undelivered: m, own: policy.Kind == SlowDisconnect, gaps: q.gaps}
	q.gaps = nil
	e.head = q.keep(m.head, policy.Kind == SlowConflate)
	q.entries = append(q.entries, e)
	q.bytes += e.size()
	if !e.own {
		q.messages += e.size()
	}
	if policy.Kind == SlowConflate {
		q.newest[key] = q.gone + len(q.entries) - 1
	}
	return lost
}

// keep returns head for keeping: a reference, so that many sessions hold one
// copy, or a copy where a reference would pin far more memory than the session
// is charged for. What conflating leaves lies scattered, so it is copied.
func (q *backlog) keep(head []byte, scattered bool) []byte {
	if len(head) >= largeBytes {
		return head
	}
	if scattered || q.toCopy > 0 {
		q.toCopy = max(0, q.toCopy-len(head))
		return append([]byte(nil), head...)
	}
	if q.lastHead != nil && !sameEnd(q.lastHead, head) {
		if q.slabOwed < slabBytes/sparseShare {
			q.slabOwed, q.lastHead = 0, nil
			q.toCopy = slabBytes
			return append([]byte(nil), head...)
		}
		q.slabOwed = 0
	}
	q.lastHead = head
	q.slabOwed += len(head)
	return head
}

// dropOldest drops the oldest message that may be and reports whether there
// was one.
func (q *backlog) dropOldest(lost *int64, notify bool) bool {
	for i := max(q.oldest, q.head); i < len(q.entries); i++ {
		q.oldest = i + 1
		if e := &q.entries[i]; !e.own && !e.gone {
			*lost += q.drop(i, notify)
			return true
		}
	}
	return false
}

// drop drops entry i and hands on what was lost in front of it.
func (q *backlog) drop(i int, notify bool) int64 {
	e := &q.entries[i]
	if e.gone || e.own {
		return 0
	}
	q.bytes -= e.size()
	q.messages -= e.size()
	lost := e.gaps
	if notify {
		lost.add(e.channel(), 1)
	}
	*e = entry{gone: true}
	q.dead++
	to := &q.gaps
	for j := i + 1; j < len(q.entries); j++ {
		if !q.entries[j].gone {
			to = &q.entries[j].gaps
			break
		}
	}
	to.merge(lost)
	for q.head < len(q.entries) && q.entries[q.head].gone {
		q.head++
		q.dead--
	}
	q.trim()
	if q.dead > 64 && q.dead > (len(q.entries)-q.head)/2 {
		q.compact()
	}
	return 1
}

// compact takes dropped entries out.
func (q *backlog) compact() {
	kept := q.entries[:0]
	for _, e := range q.entries[q.head:] {
		if !e.gone {
			kept = append(kept, e)
		}
	}
	clear(q.entries[len(kept):])
	q.entries, q.head, q.dead, q.oldest = kept, 0, 0, 0
	if q.newest != nil {
		clear(q.newest)
		q.gone = 0
		for i := range kept {
			if e := &kept[i]; !e.own && e.sub != nil {
				q.newest[messageKey{e.sub, e.channel()}] = i
			}
		}
	}
}

// sealOwn makes the replies behind the last entry an entry.
func (q *backlog) sealOwn() {
	if len(q.w.B) > 0 {
		q.appendOwn(q.w.B)
		q.w.B = nil
	}
}

// appendOwn appends bytes that are never dropped.
func (q *backlog) appendOwn(b []byte) {
	e := entry{undelivered: undelivered{head: b}, own: true, gaps: q.gaps}
	q.gaps = nil
	q.entries = append(q.entries, e)
	q.bytes += e.size()
}

// pending returns the number of bytes that wait.
func (q *backlog) pending() int64 { return q.bytes + int64(len(q.w.B)) }

// refillBytes is how much moves to the outbox at a time. What has moved is not
// dropped any more.
const refillBytes = 64 << 10

// refill moves the front to o, an outbox that is empty, and reports whether
// anything is left.
func (q *backlog) refill(o *outbox) (more bool) {
	for q.head < len(q.entries) && o.pending() < refillBytes {
		e := &q.entries[q.head]
		if !e.gone {
			o.appendGaps(e.gaps)
			if len(e.head) <= copyBytes {
				o.copyIn(e.head)
			} else {
				o.reference(e.head)
			}
			if e.body != nil {
				o.reference(e.body)
			}
			q.bytes -= e.size()
			if !e.own {
				q.messages -= e.size()
			}
		} else {
			q.dead--
		}
		*e = entry{}
		q.head++
	}
	if q.head < len(q.entries) {
		q.trim()
		return true
	}
	o.appendGaps(q.gaps)
	o.copyIn(q.w.B)
	return false
}

// trim lets go of the memory of entries that have left.
func (q *backlog) trim() {
	if q.head <= 1024 || q.head <= len(q.entries)/2 {
		return
	}
	n := copy(q.entries, q.entries[q.head:])
	clear(q.entries[n:])
	q.entries = q.entries[:n]
	q.oldest = max(0, q.oldest-q.head)
	q.gone += q.head
	q.head = 0
}

// maxGaps is how many channels are named at one place; losses of further ones
// are counted together, under an empty name.
const maxGaps = 256

// gaps are numbers of lost messages by channel, in the order of the first
// loss.
type gaps []gap

type gap struct {
	channel string
	lost    int64
}

func (g *gaps) add(channel string, lost int64) {
	for i := range *g {
		if (*g)[i].channel == channel {
			(*g)[i].lost += lost
			return
		}
	}
	if len(*g) >= maxGaps {
		channel = ""
		if last := &(*g)[len(*g)-1]; last.channel == "" {
			last.lost += lost
			return
		}
	}
	*g = append(*g, gap{channel, lost})
}

// merge puts earlier losses in front.
func (g *gaps) merge(earlier gaps) {
	if len(*g) == 0 {
		*g = earlier
		return
	}
	later := *g
	*g = earlier
	for _, x := range later {
		g.add(x.channel, x.lost)
	}
}

// appendGaps appends the pushes that tell of lost messages.
func (o *outbox) appendGaps(g gaps) {
	for _, x := range g {
		w := resp.Writer{Proto: respPush, B: make([]byte, 0, 64+len(x.channel))}
		w.Push(3)
		w.BulkString("dropped")
		w.BulkString(x.channel)
		w.Int(x.lost)
		o.copyIn(w.B)
	}
}
