package shard

import (
	"broker/channelstore"
	"broker/resp"
)

// Publish sends payload to everyone who is subscribed to channel and returns
// the number of receivers: one per exact subscription and, for Channels, one
// per subscription to a matching pattern, in the snapshots that the message
// will be delivered to (invariant exact-count).
//
// It never waits (invariant never-wait). Nothing is encoded when there are no
// receivers. channel and payload are not kept. The message leaves the loop at
// the end of the turn, before the reply does (invariant causal).
func (s *Session) Publish(kind channelstore.Kind, channel, payload []byte) int {
	l := s.loop
	l.stats.Messages++
	l.beginPublishing()

	store := l.group.store
	exact := store.Find(kind, channel)
	patterns := l.matches[:0]
	if kind == channelstore.Channels && store.Count(channelstore.Patterns) > 0 {
		patterns = store.Match(channel, patterns)
		l.matches = patterns
	}
	if exact == nil && len(patterns) == 0 {
		if l.traffic.skip--; l.traffic.skip < 0 {
			l.sample(channel, len(payload), 0)
		}
		return 0
	}

	if l.batch == nil {
		l.batch = newBatch(len(l.group.loops))
	}
	var body []byte
	if len(payload) >= largeBytes {
		body = sharedBody(payload)
	}
	receivers := 0
	if exact != nil {
		receivers += exact.Len()
		head := l.encode(kind, channel, payload, body != nil)
		l.batch.add(exact, head, body, len(patterns) == 0)
	}
	for i, list := range patterns {
		receivers += list.Len()
		head := l.encodePattern(list.Name(), channel, payload, body != nil)
		l.batch.add(list, head, body, false)
		patterns[i] = nil
	}
	if l.traffic.skip--; l.traffic.skip < 0 {
		l.sample(channel, len(payload), receivers)
	}
	return receivers
}

// encode appends the RESP2 frame of a message to the loop's slab: whole, or
// up to its payload when that is shared by reference.
func (l *Loop) encode(kind channelstore.Kind, channel, payload []byte, headOnly bool) []byte {
	frame := resp.Message
	if kind == channelstore.ShardChannels {
		frame = resp.ShardMessage
	}
	size := resp.MessageSize(frame, len(channel), len(payload))
	if headOnly {
		size -= len(payload)
	}
	dst := l.slab.room(size)
	if headOnly {
		dst = resp.AppendMessageHead(dst, frame, channel, len(payload))
	} else {
		dst = resp.AppendMessage(dst, frame, channel, payload)
	}
	return l.slab.commit(dst)
}

func (l *Loop) encodePattern(pattern string, channel, payload []byte, headOnly bool) []byte {
	size := resp.PatternMessageSize(len(pattern), len(channel), len(payload))
	if headOnly {
		size -= len(payload)
	}
	dst := l.slab.room(size)
	if headOnly {
		dst = resp.AppendPatternMessageHead(dst, pattern, channel, len(payload))
	} else {
		dst = resp.AppendPatternMessage(dst, pattern, channel, payload)
	}
	return l.slab.commit(dst)
}

// sharedBody copies a large payload and its end into memory of its own. The
// bytes behind the payload are read as well when the slice has them (on the
// wire they are the CRLF): appending to nil does not clear memory first, a
// make would.
func sharedBody(payload []byte) []byte {
	n := len(payload)
	if cap(payload) >= n+2 {
		body := append([]byte(nil), payload[:n+2]...)
		body[n], body[n+1] = '\r', '\n'
		return body
	}
	body := make([]byte, 0, n+2)
	return append(append(body, payload...), '\r', '\n')
}

// beginPublishing marks the loop as one that may hold a list older than the
// newest snapshot, until the next hand-over. See grace.go.
func (l *Loop) beginPublishing() {
	if !l.publishing {
		l.publishing = true
		l.epoch.Add(1)
	}
}

// handOver gives the turn's batch to every shard that holds a receiver, the
// own one included.
//
// A batch for several shards is pushed under the group's order lock: two
// such batches stand in the same order in every inbox they share (invariant
// total-order). A batch for one shard needs no lock: its inbox is the order.
// The lock covers one compare-and-swap per target; wake-ups, at most one per
// target, come after it.
func (l *Loop) handOver() {
	if b := l.batch; b != nil && len(b.runs) > 0 {
		l.batch = nil
		var targets int32
		for _, runs := range b.targets {
			if len(runs) > 0 {
				targets++
			}
		}
		b.refs.Store(targets)
		g := l.group
		if targets > 1 {
			g.order.Lock()
			l.pushBatch(b, targets)
			g.order.Unlock()
		} else {
			l.pushBatch(b, targets)
		}
	}
	if l.publishing {
		l.publishing = false
		l.epoch.Add(1)
	}
	l.wakePushed()
}

// pushBatch pushes b to its targets and remembers whom to wake. Once the last
// post is pushed the batch may be released and recycled by another loop, so
// nothing of it is read after that.
func (l *Loop) pushBatch(b *batch, targets int32) {
	for i := 0; targets > 0; i++ {
		if len(b.targets[i]) == 0 {
			continue
		}
		targets--
		b.posts[i].batch = b
		l.group.loops[i].inbox.push(&b.posts[i])
		if i != l.id {
			l.pushed = append(l.pushed, int32(i))
		}
	}
}

func (l *Loop) wakePushed() {
	for _, i := range l.pushed {
		l.group.loops[i].wakeIfAsleep()
	}
	l.pushed = l.pushed[:0]
}
