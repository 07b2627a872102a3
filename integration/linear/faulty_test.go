package linear

import (
	"runtime"
	"sync"
)

// A fault is what is wrong with a store of the test's own.
type fault int

const (
	faultless fault = iota
	// ackBeforeSnapshot answers SUBSCRIBE before a PUBLISH can see it.
	ackBeforeSnapshot
	// lostWakeUp leaves a post in the inbox of a receiver that went to sleep at
	// the same time.
	lostWakeUp
	// staleSlot delivers by the place in the list: who has taken the place of
	// one who left gets what was meant for that one.
	staleSlot
)

// faultyStore is a small store with snapshots, slots and an inbox per client.
// It stands in for the broker, to show that the checker finds its faults.
type faultyStore struct {
	fault fault

	mu    sync.Mutex // the control mutex
	lists [][]int8   // by channel: slot to client, -1 for a free slot; replaced, never changed
	slots [][]int8   // by channel: the current owners, which staleSlot consults too late

	inboxes [maxClients]struct {
		mu    sync.Mutex
		posts []uint32
		lost  int // posts until the next one that is not seen
	}
}

func newFaultyStore(f fault, channels int) *faultyStore {
	return &faultyStore{fault: f, lists: make([][]int8, channels), slots: make([][]int8, channels)}
}

type faultyClient struct {
	*faultyStore
	me int
}

func (s *faultyStore) dial(i int) (client, error) { return &faultyClient{s, i}, nil }

// change replaces a channel's list by one with or without this client.
func (c *faultyClient) change(channel int, join bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := append([]int8(nil), c.lists[channel]...)
	at, free := -1, -1
	for slot, owner := range next {
		switch {
		case owner == int8(c.me):
			at = slot
		case owner < 0 && free < 0:
			free = slot
		}
	}
	switch {
	case join && at < 0 && free >= 0:
		next[free] = int8(c.me)
	case join && at < 0:
		next = append(next, int8(c.me))
	case !join && at >= 0:
		next[at] = -1
	}
	c.lists[channel], c.slots[channel] = next, next
}

func (c *faultyClient) snapshot(channel int) []int8 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists[channel]
}

func (c *faultyClient) run(v verb, channel int, id uint32) (int, error) {
	switch {
	case v == subscribe && c.fault == ackBeforeSnapshot:
		go c.change(channel, true)
		return 0, nil
	case v != publish:
		c.change(channel, v == subscribe)
		return 0, nil
	}
	list, count := c.snapshot(channel), 0
	for slot, owner := range list {
		if owner < 0 {
			continue
		}
		count++
		if c.fault == staleSlot {
			// The owner is looked up again at delivery.
			runtime.Gosched()
			c.mu.Lock()
			owner = c.slots[channel][slot]
			c.mu.Unlock()
			if owner < 0 {
				continue
			}
		}
		c.post(int(owner), id)
	}
	return count, nil
}

func (c *faultyClient) post(to int, id uint32) {
	q := &c.inboxes[to]
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.fault == lostWakeUp {
		if q.lost++; q.lost%1000 == 0 {
			return
		}
	}
	q.posts = append(q.posts, id)
}

func (c *faultyClient) finish() ([]uint32, error) {
	q := &c.inboxes[c.me]
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.posts, nil
}
