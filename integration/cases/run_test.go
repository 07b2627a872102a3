package cases

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"

	"broker/integration/harness"
)

// quietGap is how long nothing must come for a burst of unknown length to be
// over.
const quietGap = 120 * time.Millisecond

// A run plays one case against one server.
type run struct {
	addr string
	tls  *tls.Config // nil for plain text
	// limit is the time for one step; slowFactor multiplies the limits that a
	// case names itself.
	limit      time.Duration
	slowFactor time.Duration

	conns map[string]*harness.Conn
	vars  map[string]string
}

// play runs the case's steps and then its cleanup, and reports the first step
// that failed.
func (r *run) play(c Case) error {
	r.conns, r.vars = map[string]*harness.Conn{}, map[string]string{}
	err := r.steps(c.Steps)
	if e := r.steps(c.Cleanup); e != nil && err == nil {
		err = fmt.Errorf("cleanup: %w", e)
	}
	return err
}

func (r *run) steps(steps []Step) error {
	defer func() {
		for _, c := range r.conns {
			c.Close()
		}
		clear(r.conns)
	}()
	for _, s := range steps {
		// Before the first step, because the server's clocks run during them.
		for _, text := range []*string{s.Send, s.Expect} {
			if text != nil && !variable.MatchString(*text) {
				if _, err := r.text(s, text); err != nil {
					return fmt.Errorf("%v: %w", s, err)
				}
			}
		}
	}
	// slept is the pause whose effect the next questions ask for.
	var slept time.Duration
	for n := 0; n < len(steps); n++ {
		s := steps[n]
		var err error
		switch {
		case s.SleepMS > 0:
			// Part of the recorded conversation: a timer of the server is to
			// run out, or must not.
			slept = time.Duration(s.SleepMS) * time.Millisecond
			time.Sleep(slept)
		case slept > 0 && s.Send != nil && n+1 < len(steps) && steps[n+1].Expect != nil && steps[n+1].Conn == s.Conn:
			n++
			err = r.ask(s, steps[n], time.Now().Add(slept*r.slowFactor))
		default:
			slept = 0
			err = r.step(s)
		}
		if err != nil {
			return fmt.Errorf("step %d %v\n      %w", n, steps[n], err)
		}
	}
	return nil
}

// ask sends a question and expects the answer. The pause before it was long
// enough for a server with a machine of its own; on another the question is
// repeated until the deadline.
func (r *run) ask(question, answer Step, deadline time.Time) error {
	for {
		if err := r.step(question); err != nil {
			return err
		}
		err := r.step(answer)
		if err == nil || !time.Now().Before(deadline) {
			return err
		}
		c, e := r.conn(answer.Conn)
		if e != nil || c.Ended() != nil {
			return err
		}
		drain(c, deadline)
	}
}

// expanded holds by text what the texts without variables stand for; all runs
// of a case share its texts.
var expanded sync.Map

// text expands a text of the step. The result is shared and must not be
// written.
func (r *run) text(s Step, text *string) ([]byte, error) {
	if b, ok := expanded.Load(text); ok {
		return b.([]byte), nil
	}
	b, err := expand(*text, s.Repeat, r.vars)
	if err == nil && !variable.MatchString(*text) {
		expanded.Store(text, b)
	}
	return b, err
}

func (r *run) conn(name string) (*harness.Conn, error) {
	if c := r.conns[name]; c != nil {
		return c, nil
	}
	return r.open(name, 0, r.tls)
}

func (r *run) open(name string, windowBytes int, tls *tls.Config) (*harness.Conn, error) {
	c, err := harness.DialTLS(r.addr, windowBytes, tls)
	if err != nil {
		return nil, err
	}
	r.conns[name] = c
	return c, nil
}

func (r *run) step(s Step) error {
	limit := r.limit
	if s.MaxMS > 0 {
		limit = time.Duration(s.MaxMS) * time.Millisecond * r.slowFactor
	}
	deadline := time.Now().Add(limit)
	if s.Open {
		if c := r.conns[s.Conn]; c != nil {
			c.Close()
			delete(r.conns, s.Conn)
		}
		secure := r.tls
		if s.Plain {
			secure = nil
		}
		_, err := r.open(s.Conn, s.WindowBytes, secure)
		return err
	}
	c, err := r.conn(s.Conn)
	if err != nil {
		return err
	}
	switch {
	case s.Send != nil:
		return r.send(c, s, deadline)
	case s.Expect != nil:
		want, err := r.text(s, s.Expect)
		if err != nil {
			return err
		}
		return expect(c, want, deadline)
	case s.ExpectAny != nil:
		var wants [][]byte
		for _, text := range s.ExpectAny {
			want, err := expand(text, nil, r.vars)
			if err != nil {
				return err
			}
			wants = append(wants, want)
		}
		return expectAny(c, wants, deadline)
	case s.ExpectPrefix != nil:
		want, err := expand(*s.ExpectPrefix, nil, r.vars)
		if err != nil {
			return err
		}
		if err := awaitPrefix(c, want, deadline); err != nil {
			return err
		}
		drain(c, deadline)
		return nil
	case s.ExpectRegex != nil:
		return r.expectRegex(c, *s.ExpectRegex, deadline)
	case s.ExpectClosed:
		return expectClosed(c, s.Drain, deadline)
	case s.ExpectSilenceMS != nil:
		return expectSilence(c, time.Duration(*s.ExpectSilenceMS)*time.Millisecond)
	case s.Drain:
		drain(c, deadline)
		return nil
	case s.Close == "rst":
		c.Abort()
		delete(r.conns, s.Conn)
		return nil
	case s.Close == true:
		c.Close()
		delete(r.conns, s.Conn)
		return nil
	case s.ShutdownWr:
		return c.CloseWrite()
	}
	return errors.New("unknown step")
}

func (r *run) send(c *harness.Conn, s Step, deadline time.Time) error {
	b, err := r.text(s, s.Send)
	if err != nil {
		return err
	}
	chunk := s.ChunkBytes
	if chunk == 0 {
		chunk = max(len(b), 1)
	}
	for len(b) > 0 {
		n := min(chunk, len(b))
		if err := c.SendBy(b[:n], deadline); err != nil {
			if s.MayFail {
				return nil
			}
			return err
		}
		b = b[n:]
		if s.ChunkDelayMS > 0 {
			time.Sleep(time.Duration(s.ChunkDelayMS) * time.Millisecond)
		}
	}
	return nil
}

// awaitPrefix reads until what was received begins with want, and fails at the
// first byte that differs.
func awaitPrefix(c *harness.Conn, want []byte, deadline time.Time) error {
	same := 0 // compared already
	for {
		got := c.Received()
		n := min(len(got), len(want))
		if !bytes.Equal(got[same:n], want[same:n]) {
			at := same
			for got[at] == want[at] {
				at++
			}
			lo := max(0, at-40)
			return fmt.Errorf("differs at byte %d\n      want %s\n      got  %s", at,
				harness.Show(want[lo:min(lo+300, len(want))]), harness.Show(got[lo:min(lo+300, len(got))]))
		}
		if same = n; n == len(want) {
			return nil
		}
		if !c.Pump(deadline) {
			return fmt.Errorf("%s after %d of %d bytes, next is to be %s", over(c), n, len(want),
				harness.Show(want[n:min(n+200, len(want))]))
		}
	}
}

func expect(c *harness.Conn, want []byte, deadline time.Time) error {
	if err := awaitPrefix(c, want, deadline); err != nil {
		return err
	}
	c.Discard(len(want))
	return nil
}

func expectAny(c *harness.Conn, wants [][]byte, deadline time.Time) error {
	for {
		possible := false
		for _, want := range wants {
			got := c.Received()
			if bytes.HasPrefix(got, want) {
				c.Discard(len(want))
				return nil
			}
			possible = possible || bytes.HasPrefix(want, got)
		}
		if !possible || !c.Pump(deadline) {
			return fmt.Errorf("%s, none of %d alternatives\n      got  %s", over(c), len(wants), harness.Show(c.Received()))
		}
	}
}

func expectClosed(c *harness.Conn, after bool, deadline time.Time) error {
	for {
		if len(c.Received()) > 0 {
			if !after {
				return fmt.Errorf("expected close, got %s", harness.Show(c.Received()))
			}
			c.Discard(len(c.Received()))
		}
		if !c.Pump(deadline) {
			if c.Ended() == nil {
				return errors.New("expected close, still open")
			}
			return nil
		}
	}
}

func expectSilence(c *harness.Conn, d time.Duration) error {
	if len(c.Received()) == 0 {
		c.Pump(time.Now().Add(d))
	}
	if got := c.Received(); len(got) > 0 {
		return fmt.Errorf("expected silence, got %s", harness.Show(got))
	}
	if c.Ended() != nil {
		return fmt.Errorf("expected silence, %s", over(c))
	}
	return nil
}

// drain drops what comes until whole values are there and nothing is left
// over, or until nothing came for quietGap.
func drain(c *harness.Conn, deadline time.Time) {
	for {
		if len(c.Received()) > 0 {
			if _, err := harness.ParseAll(c.Received()); err == nil {
				break
			}
		}
		gap := time.Now().Add(quietGap)
		if gap.After(deadline) {
			gap = deadline
		}
		if !c.Pump(gap) {
			break
		}
	}
	c.Discard(len(c.Received()))
}

// over says why no more bytes are awaited.
func over(c *harness.Conn) string {
	switch end := c.Ended(); {
	case end == nil:
		return "timed out"
	case errors.Is(end, io.EOF):
		return "closed"
	default:
		return "closed: " + end.Error()
	}
}

// expectRegex reads until the pattern matches at the start of what was
// received, takes the match and remembers its named groups.
func (r *run) expectRegex(c *harness.Conn, pattern string, deadline time.Time) error {
	pattern, err := substitute(pattern, r.vars, regexp.QuoteMeta)
	if err != nil {
		return err
	}
	rx, err := compile(pattern)
	if err != nil {
		return err
	}
	// A pattern may span megabytes and each try begins at the start. So it is
	// tried when the input pauses or has grown by a quarter, not for every read.
	tried, next := -1, 0
	const pause = 5 * time.Millisecond
	for {
		n := len(c.Received())
		if n >= next && n != tried {
			m, err := rx.FindRunesMatch(latin1(c.Received()))
			if err != nil {
				return err
			}
			if m != nil {
				for _, g := range m.Groups() {
					if g.Name != "" && len(g.Captures) > 0 {
						r.vars[g.Name] = g.String()
					}
				}
				c.Discard(m.Length)
				return nil
			}
			tried, next = n, n+n/4
		}
		wait := time.Now().Add(pause)
		if next <= n || wait.After(deadline) {
			wait = deadline
		}
		if c.Pump(wait) {
			continue
		}
		if len(c.Received()) != tried {
			next = 0
			continue
		}
		if c.Ended() != nil || !time.Now().Before(deadline) {
			return fmt.Errorf("%s, no match of %.160s\n      got  %s", over(c), pattern, harness.Show(c.Received()))
		}
		next = tried
	}
}

// latin1 maps each byte to the character of the same number, the view that a
// bytes pattern has.
func latin1(b []byte) []rune {
	runes := make([]rune, len(b))
	for i, x := range b {
		runes[i] = rune(x)
	}
	return runes
}

var (
	compiledMu sync.Mutex
	compiled   = map[string]*regexp2.Regexp{}
)

// compile translates a Python bytes pattern with DOTALL, anchored at the start.
func compile(pattern string) (*regexp2.Regexp, error) {
	compiledMu.Lock()
	defer compiledMu.Unlock()
	if rx := compiled[pattern]; rx != nil {
		return rx, nil
	}
	translated := strings.ReplaceAll(pattern, "(?P<", "(?<")
	rx, err := regexp2.Compile(`\A(?:`+translated+`)`, regexp2.Singleline)
	if err == nil {
		compiled[pattern] = rx
	}
	return rx, err
}
