package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

const defaultTimeout = 5 * time.Second

// A subscriber is the tool sub.
type subscriber struct {
	target
	pattern, shard bool
	format         format
	count          int64
	quiet          bool

	messages, bytes int64 // received
}

func subTool(set *flag.FlagSet) runner {
	s := &subscriber{format: formatLine}
	s.addFlags(set, defaultTimeout)
	set.BoolVar(&s.pattern, "pattern", false, "the arguments are patterns")
	set.BoolVar(&s.shard, "shard", false, "the arguments are shard channels")
	set.Var(&s.format, "format", "`FORMAT`: line (payloads), json (an object to a line) or raw (payloads, nothing between)")
	set.Int64Var(&s.count, "count", 0, "end after `N` messages; 0 goes on")
	set.BoolVar(&s.quiet, "quiet", false, "do not report the count at the end")
	return s.run
}

func (s *subscriber) run(ctx context.Context, p *Process, channels []string) error {
	switch {
	case len(channels) == 0:
		return errors.New("no channel to subscribe to")
	case s.pattern && s.shard:
		return errors.New("there are no patterns of shard channels")
	case s.count < 0:
		return errors.New("count is negative")
	}
	if err := s.resolve(p.Env); err != nil {
		return err
	}
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	verb := "SUBSCRIBE"
	if s.pattern {
		verb = "PSUBSCRIBE"
	} else if s.shard {
		verb = "SSUBSCRIBE"
	}
	begin := time.Now()
	if err := c.send(append([]string{verb}, channels...)...); err != nil {
		return err
	}
	if err := c.w.Flush(); err != nil {
		return err
	}
	err = s.receiveAll(c, newMessageWriter(p.Stdout, s.format), len(channels))
	if !s.quiet {
		fmt.Fprintf(p.Stderr, "received %d messages, %d bytes of payload, in %v\n",
			s.messages, s.bytes, time.Since(begin).Round(time.Millisecond))
	}
	if ctx.Err() != nil {
		return nil // told to stop, which closed the connection
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the broker closed the connection")
	}
	return err
}

// receiveAll writes messages until there are enough or the connection ends.
// The first unconfirmed names have to be confirmed within the timeout.
func (s *subscriber) receiveAll(c *conn, w *messageWriter, unconfirmed int) error {
	for s.count == 0 || s.messages < s.count {
		timeout := time.Duration(0)
		if unconfirmed > 0 {
			timeout = s.timeout
		}
		if c.r.Buffered() == 0 {
			// Nothing more has come: what has should be seen.
			if err := w.w.Flush(); err != nil {
				return err
			}
		}
		v, err := c.receive(timeout)
		if err != nil {
			return errors.Join(err, w.w.Flush())
		}
		if v.isError() {
			return errors.Join(v.err(), w.w.Flush())
		}
		if len(v.elems) < 3 {
			return fmt.Errorf("unexpected %s", v.kindName())
		}
		last := v.elems[len(v.elems)-1]
		switch v.elems[0].text {
		case "message", "smessage":
			err = w.write("", v.elems[1].text, last.text)
		case "pmessage":
			if len(v.elems) < 4 {
				return fmt.Errorf("unexpected %s", v.kindName())
			}
			err = w.write(v.elems[1].text, v.elems[2].text, last.text)
		default:
			unconfirmed--
			continue
		}
		if err != nil {
			return err
		}
		s.messages++
		s.bytes += int64(len(last.text))
	}
	return w.w.Flush()
}
