package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// maxUnanswered is how many messages may be on their way without a reply.
const maxUnanswered = 4096

// A publisher is the tool pub.
type publisher struct {
	target
	shard  bool
	format format
	count  int64
	rate   float64
	quiet  bool

	// Counted by the goroutine that receives.
	published, receivers, failed int64
	firstFailure                 error
}

func pubTool(set *flag.FlagSet) runner {
	b := &publisher{format: formatLine, count: 1}
	b.addFlags(set, defaultTimeout)
	set.BoolVar(&b.shard, "shard", false, "publish to shard channels")
	set.Var(&b.format, "format", "`FORMAT` of standard input: line (a payload to a line) or json (objects as sub writes them, with their channel unless one is given)")
	set.Int64Var(&b.count, "count", 1, "publish MESSAGE `N` times")
	set.Float64Var(&b.rate, "rate", 0, "publish at most `N` messages per second; 0 sets no limit")
	set.BoolVar(&b.quiet, "quiet", false, "do not report the counts at the end")
	return b.run
}

// An item is a message to publish, or the error that ends them.
type item struct {
	channel, payload string
	err              error
}

// source returns a function that gives the messages to publish, and io.EOF
// behind the last one. It may block.
func (b *publisher) source(p *Process, args []string) (func() item, error) {
	switch {
	case len(args) > 2:
		return nil, errors.New("more than one message; one with blanks has to be quoted")
	case b.rate < 0 || math.IsNaN(b.rate) || math.IsInf(b.rate, 0):
		return nil, errors.New("rate must be a positive number")
	case b.count < 0:
		return nil, errors.New("count is negative")
	case b.format == formatRaw:
		return nil, errors.New("raw input has no beginning and end of messages")
	case len(args) == 2:
		left := b.count
		return func() item {
			if left == 0 {
				return item{err: io.EOF}
			}
			left--
			return item{args[0], args[1], nil}
		}, nil
	case len(args) == 0 && b.format != formatJSON:
		return nil, errors.New("no channel to publish to")
	}
	r := &messageReader{r: bufio.NewReaderSize(p.Stdin, bufferBytes), format: b.format}
	if len(args) == 1 {
		r.channel = args[0]
	}
	return func() item {
		channel, payload, err := r.next()
		return item{channel, payload, err}
	}, nil
}

// readAhead calls next on a goroutine of its own, so that whoever takes the
// items can stop waiting. The goroutine ends behind an error, or when ended is
// closed, as soon as next returns.
func readAhead(next func() item, ended <-chan struct{}) <-chan item {
	items := make(chan item, 64)
	go func() {
		for {
			i := next()
			select {
			case items <- i:
			case <-ended:
				return
			}
			if i.err != nil {
				return
			}
		}
	}()
	return items
}

func (b *publisher) run(ctx context.Context, p *Process, args []string) error {
	next, err := b.source(p, args)
	if err != nil {
		return err
	}
	if err := b.resolve(p.Env); err != nil {
		return err
	}
	// The connection outlives ctx, so that the replies to what was sent are
	// still counted.
	c, err := b.dial(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer c.close()
	begin := time.Now()

	sent := make(chan struct{}, maxUnanswered) // an element per message without reply
	received := make(chan error, 1)
	go func() { received <- b.receiveAll(c, sent) }()
	ended := make(chan struct{})
	sendErr := b.sendAll(ctx, c, readAhead(next, ended), sent, received)
	close(ended)
	close(sent)
	err = <-received
	if !b.quiet {
		fmt.Fprintf(p.Stderr, "published %d messages to %d receivers in %v\n",
			b.published, b.receivers, time.Since(begin).Round(time.Millisecond))
	}
	switch {
	case err != nil:
		return err
	case b.failed > 0:
		return fmt.Errorf("%d messages were refused, the first: %w", b.failed, b.firstFailure)
	}
	return sendErr
}

var errConnectionEnded = errors.New("the broker closed the connection")

// sendAll publishes until the items end, ctx is cancelled, or the receiving
// side has ended, whose error it leaves in received.
func (b *publisher) sendAll(ctx context.Context, c *conn, items <-chan item, sent chan<- struct{}, received chan error) error {
	verb := "PUBLISH"
	if b.shard {
		verb = "SPUBLISH"
	}
	pace := pace{rate: b.rate, begin: time.Now()}
	for {
		if len(items) == 0 {
			if err := c.w.Flush(); err != nil {
				return err
			}
		}
		var i item
		select {
		case i = <-items:
		case <-ctx.Done():
			return c.w.Flush()
		}
		if i.err != nil {
			if errors.Is(i.err, io.EOF) {
				i.err = nil
			}
			return errors.Join(i.err, c.w.Flush())
		}
		if wait := pace.next(time.Now()); wait > 0 {
			if err := c.w.Flush(); err != nil {
				return err
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil
			}
		}
		if err := c.send(verb, i.channel, i.payload); err != nil {
			return err
		}
		select {
		case sent <- struct{}{}:
			continue
		default:
		}
		if err := c.w.Flush(); err != nil {
			return err
		}
		select {
		case sent <- struct{}{}:
		case err := <-received:
			received <- err
			return nil
		}
	}
}

// receiveAll counts a reply for every element of sent, until that is closed.
func (b *publisher) receiveAll(c *conn, sent <-chan struct{}) error {
	for range sent {
		v, err := c.receive(c.timeout)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return errConnectionEnded
			}
			return err
		}
		if v.isError() {
			b.failed++
			if b.firstFailure == nil {
				b.firstFailure = v.err()
			}
			continue
		}
		n, err := strconv.ParseInt(v.text, 10, 64)
		if v.kind != ':' || err != nil {
			return fmt.Errorf("unexpected %s", v.kindName())
		}
		b.published++
		b.receivers += n
	}
	return nil
}

// A pace spreads messages evenly. What was late is not made up for in a burst
// of more than a second's worth.
type pace struct {
	rate  float64 // per second; 0: no limit
	begin time.Time
	n     int64
}

// next returns how long to wait before the next message is sent.
func (p *pace) next(now time.Time) time.Duration {
	if p.rate == 0 {
		return 0
	}
	due := p.begin.Add(time.Duration(float64(p.n) / p.rate * float64(time.Second)))
	if now.Sub(due) > time.Second {
		p.begin, p.n = now, 0
		due = now
	}
	p.n++
	return due.Sub(now)
}
