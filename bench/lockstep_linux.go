package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// lockstepPrealloc is how many latencies are kept before the slice grows.
const lockstepPrealloc = 1 << 20

func (g *generator) lockstep(ctx context.Context) (sample, error) {
	var s sample
	if err := g.subscribeAll(ctx, true); err != nil {
		return s, err
	}
	publisher, l, err := g.openPublisher(ctx)
	if err != nil {
		return s, err
	}
	var (
		begin     snapshot
		measuring bool
		latencies = make([]time.Duration, 0, lockstepPrealloc)
		surplus   int64
		deadline  = time.Now().Add(g.tm.warm)
	)
	for {
		start := time.Now()
		last, over, err := g.publishOne(ctx, publisher, l, surplus)
		if err != nil {
			return s, err
		}
		surplus = over
		if measuring {
			s.Ops++
			latencies = append(latencies, last.Sub(start))
		}
		if time.Now().Before(deadline) {
			continue
		}
		now, err := takeSnapshot(g.t.pid)
		if err != nil {
			return s, err
		}
		if !measuring {
			begin, measuring, deadline = now, true, now.at.Add(g.tm.dur)
			continue
		}
		s.spent(begin, now)
		break
	}
	s.Deliveries = s.Ops * int64(l.deliveries)
	s.P50Micros = micros(percentile(latencies, 0.50))
	s.P99Micros = micros(percentile(latencies, 0.99))
	return s, nil
}

// openPublisher connects the one publisher of a workload that publishes one by
// one.
func (g *generator) openPublisher(ctx context.Context) (*conn, load, error) {
	senders, err := g.openSenders(ctx, 1)
	if err != nil {
		return nil, load{}, err
	}
	return senders[0], g.publishLoad(), g.watch(senders[0])
}

// publishOne publishes one message and waits until the publisher has its reply
// and the watched subscribers have all of the message. received is what they
// read beyond their last message; publishOne returns when the last of them had
// this one and what they read beyond it.
func (g *generator) publishOne(ctx context.Context, c *conn, l load, received int64) (last time.Time, surplus int64, err error) {
	due := l.messageBytes
	if g.w.Drive == driveStall {
		due = 0
	}
	c.out = l.fill(c.out)
	c.owed += l.lines
	if err := g.flush(c); err != nil {
		return last, 0, err
	}
	var replied int64
	for received < due || c.owed > 0 || len(c.out) > 0 {
		n, err := g.turn(ctx)
		if err != nil {
			return last, 0, err
		}
		for i := range n {
			from, in, err := g.ready(&g.events[i])
			if err != nil {
				return last, 0, err
			}
			if !from.subscriber {
				replied += int64(len(in))
				from.owed -= bytes.Count(in, []byte{'\n'})
				continue
			}
			received += int64(len(in))
			if len(in) > 0 && received >= due {
				last = time.Now()
			}
		}
	}
	if g.t.proto.exact() && (replied != l.bytes || received != due) {
		return last, 0, fmt.Errorf("%w: %d bytes of reply where %d are due, %d bytes of messages where %d are due",
			errTotals, replied, l.bytes, received, due)
	}
	return last, received - due, nil
}
