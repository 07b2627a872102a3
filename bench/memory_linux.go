package main

import (
	"context"
	"fmt"
	"time"
)

// memoryCheckEvery is the number of messages between two looks at the memory
// of the server in a stall workload.
const memoryCheckEvery = 64

// idle measures what idle subscribed connections cost in resident memory, a
// measuring time after the last of them subscribed.
func (g *generator) idle(ctx context.Context) (sample, error) {
	var s sample
	begin, err := takeSnapshot(g.t.pid)
	if err != nil {
		return s, err
	}
	for i := range g.w.Conns {
		c, err := g.connect(ctx, 0)
		if err != nil {
			return s, err
		}
		if err := g.subscribeOne(c, false, fmt.Sprintf(channelForm, i)); err != nil {
			return s, err
		}
	}
	timer := time.NewTimer(g.tm.dur)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return s, ctx.Err()
	}
	end, err := takeSnapshot(g.t.pid)
	if err != nil {
		return s, err
	}
	s.Ops = int64(g.w.Conns)
	s.spent(begin, end)
	return s, nil
}

// stall publishes the workload's messages one by one to subscribers that do
// not read, and ends early when the server has grown by timing.growthBytes.
func (g *generator) stall(ctx context.Context) (sample, error) {
	var s sample
	if err := g.subscribeAll(ctx, false); err != nil {
		return s, err
	}
	publisher, l, err := g.openPublisher(ctx)
	if err != nil {
		return s, err
	}
	begin, err := takeSnapshot(g.t.pid)
	if err != nil {
		return s, err
	}
	for s.Ops < int64(g.w.Messages) && !s.Floor {
		if _, _, err := g.publishOne(ctx, publisher, l, 0); err != nil {
			return s, err
		}
		s.Ops++
		if s.Ops%memoryCheckEvery == 0 {
			rss, err := processRSS(g.t.pid)
			if err != nil {
				return s, err
			}
			s.Floor = rss-begin.rssBytes > g.tm.growthBytes
		}
	}
	end, err := takeSnapshot(g.t.pid)
	if err != nil {
		return s, err
	}
	s.spent(begin, end)
	return s, nil
}
