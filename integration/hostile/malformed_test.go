package hostile

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"broker/integration/harness"
	"broker/integration/reliability"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// converse sends one stream on a connection of its own, ends its side, and
// returns everything that came until the server ended the other.
func converse(addr string, s stream) ([]byte, error) {
	c, err := harness.Dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	// A server that closes early makes either of these fail; what it said
	// before is still to be read.
	if c.Send(s.bytes) == nil && !s.open {
		_ = c.CloseWrite()
	}
	return c.UntilClosed()
}

// converseAll sends all streams, several at a time, and hands what came to
// each.
func converseAll(t *testing.T, addr string, all []stream, each func(i int, got []byte)) {
	t.Helper()
	const workers = 8
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(all); i += workers {
				got, err := converse(addr, all[i])
				if err != nil {
					t.Errorf("%s: %v", all[i].name, err)
					return
				}
				each(i, got)
			}
		})
	}
	wg.Wait()
}

// class reduces an answer to what must be alike: of each value the type, and
// of an error its text up to what it quotes. rest is what is no value.
func class(got []byte) string {
	values, err := harness.ParseAll(got)
	var b strings.Builder
	for _, v := range values {
		switch {
		case v.Type == '-':
			b.WriteString("-" + quoted.ReplaceAllString(v.Text, "'…'"))
		case len(v.Elems) > 0:
			fmt.Fprintf(&b, "%c%d", v.Type, len(v.Elems))
		default:
			b.WriteByte(v.Type)
			if v.Null {
				b.WriteString("null")
			}
		}
		b.WriteByte('\n')
	}
	if err != nil {
		fmt.Fprintf(&b, "not RESP: %v", err)
	}
	return b.String()
}

// quoted finds what an error says about the client's own bytes.
var quoted = regexp.MustCompile(`'.*`)

// later are answers in which redis 7.0.15 differs from its own later versions,
// or has a command that is none of ours: "unknown command" is all that we say
// about writing keys.
func later(theirs, ours string) bool {
	return theirs != ours && strings.Contains(ours, "-ERR unknown command") && !strings.Contains(theirs, "-ERR unknown command")
}

// TestMalformed_AnsweredAsByRedis sends every beginning and every flipped bit
// of some commands, and the attacks, to redis-server and to the broker.
func TestMalformed_AnsweredAsByRedis(t *testing.T) {
	all := attacks()
	named := len(all)
	mutated := mutations()
	step := 13 // prime to what repeats: bits, and the pairs with and without more behind
	if reliability.Full() {
		step = 1
	}
	for i := 0; i < len(mutated); i += step {
		all = append(all, mutated[i])
	}
	redis := harness.StartRedis(t)
	want := make([][]byte, len(all))
	converseAll(t, redis.Addr, all, func(i int, got []byte) { want[i] = got })
	if t.Failed() {
		return
	}
	for _, v := range harness.Variants(2) {
		t.Run(v.String(), func(t *testing.T) {
			target := v.Start(t)
			var mu sync.Mutex
			identical, unknown, different := 0, 0, 0
			converseAll(t, target.Addr, all, func(i int, got []byte) {
				mu.Lock()
				defer mu.Unlock()
				theirs, ours := class(want[i]), class(got)
				switch {
				case bytes.Equal(got, want[i]):
					identical++
				case theirs == ours:
				case later(theirs, ours):
					unknown++
				default:
					if different++; different <= 20 {
						t.Errorf("%s\nredis  %s\nbroker %s", all[i].name, harness.Show(want[i]), harness.Show(got))
					}
				}
			})
			if different > 0 {
				t.Errorf("%d of %d streams are answered in another way", different, len(all))
			}
			if unknown > len(all)/50 {
				t.Errorf("%d streams hit commands that are not ours: too many to say that the rest was compared", unknown)
			}
			awaitQuiet(t, target)
			reliability.Note(t, "malformed", "%d streams (%d attacks, the rest cut or with a flipped bit), %d answered byte for byte alike, 0 of another class", len(all), named, identical)
		})
	}
}

// awaitQuiet waits until the broker serves nobody but the one who asks.
func awaitQuiet(t *testing.T, target *harness.Target) {
	t.Helper()
	c := target.Dial(t)
	var last string
	for end := time.Now().Add(harness.Patience); time.Now().Before(end); {
		v, err := c.Do("CLIENT", "LIST")
		if err != nil {
			t.Fatal(err)
		}
		if last = v.Text; strings.Count(last, "\n") == 1 {
			return
		}
	}
	t.Errorf("sessions are left:\n%s", last)
}
