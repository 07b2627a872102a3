package shard

import (
	"bytes"
	"slices"

	"broker/channelstore"
	"broker/resp"
)

// sliceNames is how many names one command may subscribe or unsubscribe in
// one turn; the rest follows in later turns, so that a client with a million
// channels does not hold up its neighbours.
const sliceNames = 512

// indexFrom is the number of subscriptions from which a session looks them up
// in a map instead of walking its list.
const indexFrom = 16

// subscriptions is the set of a session's subscriptions of all kinds.
type subscriptions struct {
	list  []*channelstore.Subscription[*Session]
	one   [1]*channelstore.Subscription[*Session] // room for list while it is short
	index map[subscriptionKey]int                 // position in list; nil for short lists
}

type subscriptionKey struct {
	kind channelstore.Kind
	name string
}

func (t *subscriptions) find(kind channelstore.Kind, name []byte) *channelstore.Subscription[*Session] {
	if t.index != nil {
		if i, ok := t.index[subscriptionKey{kind, string(name)}]; ok {
			return t.list[i]
		}
		return nil
	}
	for _, sub := range t.list {
		if sub.Kind() == kind && sub.Name() == string(name) {
			return sub
		}
	}
	return nil
}

func (t *subscriptions) add(sub *channelstore.Subscription[*Session]) {
	if t.list == nil {
		t.list = t.one[:0]
	}
	t.list = append(t.list, sub)
	if len(t.list) == 2 {
		t.one[0] = nil
	}
	if t.index != nil {
		t.index[subscriptionKey{sub.Kind(), sub.Name()}] = len(t.list) - 1
	} else if len(t.list) > indexFrom {
		t.index = make(map[subscriptionKey]int, 2*len(t.list))
		for i, sub := range t.list {
			t.index[subscriptionKey{sub.Kind(), sub.Name()}] = i
		}
	}
}

// takeList returns the list and empties the set.
func (t *subscriptions) takeList() []*channelstore.Subscription[*Session] {
	list := t.list
	if len(list) == 1 {
		list = slices.Clone(list) // it may stand in one
	}
	*t = subscriptions{}
	return list
}

func (t *subscriptions) remove(sub *channelstore.Subscription[*Session]) {
	last := len(t.list) - 1
	i := last
	if t.index != nil {
		key := subscriptionKey{sub.Kind(), sub.Name()}
		i = t.index[key]
		delete(t.index, key)
	} else {
		for t.list[i] != sub {
			i--
		}
	}
	if i != last {
		moved := t.list[last]
		t.list[i] = moved
		if t.index != nil {
			t.index[subscriptionKey{moved.Kind(), moved.Name()}] = i
		}
	}
	t.list[last] = nil
	t.list = t.list[:last]
	if last == 0 {
		*t = subscriptions{}
	}
}

// Subscribers calls yield for every session of this loop that is subscribed to
// a channel, patterns not counted, until it returns false.
func (l *Loop) Subscribers(channel []byte, yield func(*Session) bool) {
	list := l.group.store.Find(channelstore.Channels, channel)
	if list == nil {
		return
	}
	part := list.Part(l.id)
	if part == nil {
		return
	}
	for i := range part.Chunks() {
		for _, sub := range part.Chunk(i) {
			if !yield(sub.Owner) {
				return
			}
		}
	}
}

// EachSubscription calls yield for everything that the session holds, until
// it returns false.
func (s *Session) EachSubscription(yield func(kind channelstore.Kind, name string) bool) {
	for _, sub := range s.subs.list {
		if !yield(sub.Kind(), sub.Name()) {
			return
		}
	}
}

// Subscriptions returns how many subscriptions of one kind the session holds.
func (s *Session) Subscriptions(kind channelstore.Kind) int { return int(s.counts[kind]) }

// Subscribed reports whether the session holds a subscription of any kind,
// those included whose unsubscribe is not acked yet.
func (s *Session) Subscribed() bool { return s.counts != [3]int32{} }

// ackCount is the number in an ack: channels and patterns together, shard
// channels alone.
func (s *Session) ackCount(kind channelstore.Kind) int {
	if kind == channelstore.ShardChannels {
		return int(s.counts[channelstore.ShardChannels])
	}
	return int(s.counts[channelstore.Channels] + s.counts[channelstore.Patterns])
}

// subscribeVerb and unsubscribeVerb are the first element of acks, by kind.
var (
	subscribeVerb   = [...]string{channelstore.Channels: "subscribe", channelstore.ShardChannels: "ssubscribe", channelstore.Patterns: "psubscribe"}
	unsubscribeVerb = [...]string{channelstore.Channels: "unsubscribe", channelstore.ShardChannels: "sunsubscribe", channelstore.Patterns: "punsubscribe"}
)

// Subscribe subscribes the session to names and appends one ack per name, in
// order; a name it already holds is acked with the unchanged count.
//
// Messages for the session are appended by its own loop only, so none can
// precede the ack (invariant ack-first): what other loops publish to the new
// snapshot waits in the inbox until this command has returned.
func (s *Session) Subscribe(kind channelstore.Kind, names [][]byte) {
	now, later := cutSlice(names)
	s.subscribeSlice(kind, now)
	if len(later) > 0 {
		s.subscribeLater(kind, cloneNames(later))
	}
}

// subscribeLater subscribes to names, which nobody else refers to, a slice per
// turn.
func (s *Session) subscribeLater(kind channelstore.Kind, names [][]byte) {
	s.continueWith(func() {
		now, later := cutSlice(names)
		s.subscribeSlice(kind, now)
		if len(later) > 0 {
			s.subscribeLater(kind, later)
		}
	})
}

func (s *Session) subscribeSlice(kind channelstore.Kind, names [][]byte) {
	l := s.loop
	wanted := l.names[:0]
	fresh := l.fresh[:0] // fresh[i]: names[i] is new to the session
	for _, name := range names {
		isNew := s.subs.find(kind, name) == nil && !contains(wanted, name, l.seen)
		if isNew {
			wanted = append(wanted, name)
			if len(names) > indexFrom {
				l.seen[string(name)] = struct{}{}
			}
		}
		fresh = append(fresh, isNew)
	}
	if len(l.seen) > 0 {
		clear(l.seen)
	}

	created := l.group.store.Subscribe(kind, l.id, s, wanted, l.created[:0])
	for _, sub := range created {
		s.subs.add(sub)
	}
	clear(created)
	clear(wanted)
	l.names, l.fresh, l.created = wanted, fresh, created

	for i, name := range names {
		if fresh[i] {
			if !s.Subscribed() {
				l.stats.SubscriberSessions++
			}
			s.counts[kind]++
		}
		s.appendAck(subscribeVerb[kind], name, s.ackCount(kind))
	}
}

// contains reports whether name is among wanted. Short commands are walked;
// for long ones seen holds the names.
func contains(wanted [][]byte, name []byte, seen map[string]struct{}) bool {
	if len(seen) > 0 {
		_, ok := seen[string(name)]
		return ok
	}
	for _, w := range wanted {
		if bytes.Equal(w, name) {
			return true
		}
	}
	return false
}

// Unsubscribe drops names, or every subscription of that kind when there are
// none, and appends one frame per name, in order; a name that is not held is
// answered too. With no names and nothing to drop it appends one frame with a
// null name.
//
// Everything published before precedes the frames, nothing of a dropped name
// follows its frame (invariant no-late-message). The frames may have to wait
// for a grace period; the session's later commands then wait behind it.
func (s *Session) Unsubscribe(kind channelstore.Kind, names [][]byte) {
	if len(names) > 0 {
		now, later := cutSlice(names)
		if len(later) == 0 {
			s.unsubscribeSlice(kind, now, nil)
			return
		}
		later = cloneNames(later)
		s.unsubscribeSlice(kind, now, func() { s.unsubscribeLater(kind, later) })
		return
	}
	if s.counts[kind] == 0 {
		s.appendAck(unsubscribeVerb[kind], nil, s.ackCount(kind))
		return
	}
	s.unsubscribeAll(kind)
}

// unsubscribeLater drops names, which nobody else refers to, a slice per turn.
func (s *Session) unsubscribeLater(kind channelstore.Kind, names [][]byte) {
	s.continueWith(func() {
		now, later := cutSlice(names)
		s.unsubscribeSlice(kind, now, func() {
			if len(later) > 0 {
				s.unsubscribeLater(kind, later)
			}
		})
	})
}

// unsubscribeAll drops all subscriptions of one kind, a slice per turn.
func (s *Session) unsubscribeAll(kind channelstore.Kind) {
	names := make([][]byte, 0, min(sliceNames, int(s.counts[kind])))
	for _, sub := range s.subs.list {
		if sub.Kind() == kind {
			names = append(names, []byte(sub.Name()))
			if len(names) == sliceNames {
				break
			}
		}
	}
	s.unsubscribeSlice(kind, names, func() {
		if s.counts[kind] > 0 {
			s.continueWith(func() { s.unsubscribeAll(kind) })
		}
	})
}

// unsubscribeSlice drops the held ones of names; after the grace period it
// appends the frames and calls then, if not nil.
func (s *Session) unsubscribeSlice(kind channelstore.Kind, names [][]byte, then func()) {
	l := s.loop
	held := l.held[:0] // held[i] is nil when names[i] is not held
	for _, name := range names {
		// A name that stands twice is held once: the second frame finds it gone.
		sub := s.subs.find(kind, name)
		if sub != nil {
			s.subs.remove(sub)
		}
		held = append(held, sub)
	}
	l.held = held
	if s.leave(held) {
		s.ackGone(kind, names, held)
		clear(held)
		if then != nil {
			then()
		}
		return
	}
	names, held = cloneNames(names), slices.Clone(held)
	clear(l.held)
	s.afterGrace(func() {
		s.ackGone(kind, names, held)
		if then != nil {
			then()
		}
	})
}

// ackGone ends delivery for held and appends the frames for names.
func (s *Session) ackGone(kind channelstore.Kind, names [][]byte, held []*channelstore.Subscription[*Session]) {
	for i, sub := range held {
		if sub != nil {
			s.forget(sub)
		}
		s.appendAck(unsubscribeVerb[kind], names[i], s.ackCount(kind))
	}
}

// DropSubscriptions drops everything without a frame and calls then once
// nothing can be delivered any more.
func (s *Session) DropSubscriptions(then func()) {
	n := min(len(s.subs.list), sliceNames)
	held := make([]*channelstore.Subscription[*Session], 0, n)
	for range n {
		sub := s.subs.list[len(s.subs.list)-1]
		s.subs.remove(sub)
		held = append(held, sub)
	}
	done := func() {
		for _, sub := range held {
			s.forget(sub)
		}
		if len(s.subs.list) > 0 {
			s.continueWith(func() { s.DropSubscriptions(then) })
			return
		}
		then()
	}
	if s.leave(held) {
		done()
	} else {
		s.afterGrace(done)
	}
}

// leave removes held (nils are skipped) from the store. It returns true when
// delivery to them may end now: everything published before has been
// delivered. Otherwise a grace period must pass first.
func (s *Session) leave(held []*channelstore.Subscription[*Session]) bool {
	l := s.loop
	l.handOver()
	l.leaving = l.leaving[:0]
	for _, sub := range held {
		if sub != nil {
			l.leaving = append(l.leaving, sub)
		}
	}
	if len(l.leaving) > 0 {
		l.group.store.Unsubscribe(l.leaving)
		clear(l.leaving)
		if !l.othersQuiet() {
			return false
		}
	}
	l.takeInbox()
	return true
}

// afterGrace suspends the session, and calls done on its loop after a grace
// period unless the session was torn down meanwhile.
func (s *Session) afterGrace(done func()) {
	s.suspend()
	s.loop.afterGrace(func() {
		if s.state != closed {
			s.resumeAfter(done)
		}
	})
}

// forget ends delivery for a subscription that has left the store.
func (s *Session) forget(sub *channelstore.Subscription[*Session]) {
	s.counts[sub.Kind()]--
	if !s.Subscribed() {
		s.loop.stats.SubscriberSessions--
	}
}

func (s *Session) appendAck(verb string, name []byte, count int) {
	w := s.Reply()
	w.B = resp.AppendAck(w.B, w.Proto, verb, name, count)
}

// Yield suspends the session and runs f in the next turn, or later, once the
// client has taken enough of what it is owed.
func (s *Session) Yield(f func()) { s.continueWith(f) }

// ReplyIsLarge reports whether the session has been given its share of reply
// bytes for one turn.
func (s *Session) ReplyIsLarge() bool { return s.out != nil && s.out.pending() > maxReplyBytesPerTurn }

// continueWith suspends the session and runs f in the next turn.
func (s *Session) continueWith(f func()) {
	s.suspend()
	s.next = f
	s.loop.enqueue(s)
}

func cutSlice(names [][]byte) (now, later [][]byte) {
	if len(names) > sliceNames {
		return names[:sliceNames], names[sliceNames:]
	}
	return names, nil
}

// cloneNames copies names out of a read buffer, into one allocation.
func cloneNames(names [][]byte) [][]byte {
	total := 0
	for _, n := range names {
		total += len(n)
	}
	all := make([]byte, 0, total)
	out := make([][]byte, len(names))
	for i, n := range names {
		all = append(all, n...)
		out[i] = all[len(all)-len(n):]
	}
	return out
}
