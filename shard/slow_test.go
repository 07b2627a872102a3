package shard

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"broker/resp"
)

// withPolicy gives all sessions a policy.
func withPolicy(kind SlowKind, limit int64) func(*Config) {
	return func(c *Config) { c.Slow = &SlowPolicies{Default: SlowPolicy{kind, limit}} }
}

// payload is what the i-th message of these tests carries: large enough that
// what the driver takes for the socket is a small part.
func payload(i int) string { return fmt.Sprintf("%06d", i) + strings.Repeat("x", 10_000) }

// numbersIn returns the numbers of the messages in what a client got.
func numbersIn(t *testing.T, got, channel string) []int {
	t.Helper()
	var numbers []int
	head, _, _ := strings.Cut(message(channel, payload(0)), "000000")
	for got != "" {
		body, ok := strings.CutPrefix(got, head)
		if !ok {
			t.Fatalf("no message at %q", cut(got))
		}
		n, err := strconv.Atoi(body[:6])
		if err != nil || !strings.HasPrefix(body, payload(n)+"\r\n") {
			t.Fatalf("broken message at %q", cut(got))
		}
		numbers = append(numbers, n)
		got = body[len(payload(n))+2:]
	}
	return numbers
}

func TestSlow_DropsByPolicy(t *testing.T) {
	const messages, limit = 200, 100_000
	for _, kind := range []SlowKind{SlowDropOldest, SlowDropNewest, SlowConflate} {
		t.Run(kind.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, shards int) {
				b := newTestBroker(t, shards, withPolicy(kind, limit))
				slow, ok, p := b.dialPaused(), b.dial(), b.dial()
				slow.send("SUB a")
				ok.send("SUB a")
				synctest.Wait()
				ok.take()
				for i := range messages {
					p.send("PUB a " + payload(i))
					expect(t, p, number(2)) // it is a receiver, whatever becomes of it
				}
				if got := len(numbersIn(t, ok.take(), "a")); got != messages {
					t.Errorf("who keeps up got %d of %d", got, messages)
				}
				var held int64
				b.group.Each(func(l *Loop) {
					for _, s := range l.sessions {
						if s.id == 1 {
							held = s.pending()
						}
					}
				})
				// The outbox and a refill of it, and the limit.
				if held > limit+2*refillBytes+chunkBytes {
					t.Errorf("%d bytes are held, the limit is %d", held, limit)
				}
				close(slow.paused)
				synctest.Wait()
				got := numbersIn(t, strings.TrimPrefix(slow.take(), ack("subscribe", "a", 1)), "a")
				for i := 1; i < len(got); i++ {
					if got[i] <= got[i-1] {
						t.Fatalf("out of order: %v", got)
					}
				}
				last := got[len(got)-1]
				switch kind {
				case SlowDropNewest:
					if got[0] != 0 || last != len(got)-1 || last > messages/2 {
						t.Errorf("got %v; want the first ones", got)
					}
				case SlowDropOldest:
					kept := limit / len(message("a", payload(0)))
					if last != messages-1 || got[len(got)-kept] != messages-kept || len(got) > messages/2 {
						t.Errorf("got %v; want the first ones and the last %d", got, kept)
					}
				case SlowConflate:
					if last != messages-1 || got[len(got)-2] > messages/2 {
						t.Errorf("got %v; want the first ones and the last", got)
					}
				}
				// Who has caught up loses nothing any more.
				for i := range 20 {
					p.send("PUB a " + payload(i))
					expect(t, p, number(2))
				}
				if got := len(numbersIn(t, slow.take(), "a")); got != 20 {
					t.Errorf("got %d of 20 after catching up", got)
				}
				for _, c := range []*testClient{slow, ok, p} {
					c.close()
				}
				b.stop()
			})
		})
	}
}

// Replies and acks are never dropped and stand where they belong.
func TestSlow_RepliesKeepTheirPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards, withPolicy(SlowDropOldest, 20_000))
		slow, p := b.dialPaused(), b.dial()
		slow.send("HELLO3", "SUB a")
		synctest.Wait()
		for i := range 50 {
			p.send("PUB a " + payload(i))
		}
		synctest.Wait()
		slow.send("PING", "SUB b")
		synctest.Wait()
		for i := range 50 {
			p.send("PUB a " + payload(50+i))
		}
		synctest.Wait()
		slow.send("UNSUB a", "PING")
		synctest.Wait()
		close(slow.paused)
		synctest.Wait()
		got := slow.take()
		push := func(s string) string { return ">" + s[1:] }
		parts := []string{"+PONG\r\n", push(ack("subscribe", "b", 2)), push(ack("unsubscribe", "a", 1)) + "+PONG\r\n"}
		at := 0
		for _, part := range parts {
			i := strings.Index(got[at:], part)
			if i < 0 {
				t.Fatalf("no %q in its place", part)
			}
			at += i + len(part)
		}
		if at != len(got) {
			t.Errorf("%q follows", cut(got[at:]))
		}
		if !strings.Contains(got, "000099") || !strings.HasSuffix(got[:strings.Index(got, "$11\r\nunsubscribe")], "\r\n>3\r\n") {
			t.Error("the newest messages did not arrive ahead of the ack")
		}
		slow.close()
		p.close()
		b.stop()
	})
}

// A session that asks for it is told in front of which message how many are
// missing, and of which channel.
func TestSlow_TellsOfGaps(t *testing.T) {
	for _, kind := range []SlowKind{SlowDropOldest, SlowDropNewest, SlowConflate} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestBroker(t, 2, withPolicy(kind, 100_000), func(c *Config) {
					c.Opened = func(s *Session) { s.NotifyDrops(true) }
				})
				slow, p := b.dialPaused(), b.dial()
				slow.send("HELLO3", "SUB a", "PSUB b*")
				synctest.Wait()
				sent := map[string]int{}
				for i := range 100 {
					channel := []string{"a", "bb"}[i%2]
					sent[channel]++
					p.send("PUB " + channel + " " + payload(i))
				}
				synctest.Wait()
				close(slow.paused)
				synctest.Wait()
				got := slow.take()
				count := map[string]int{
					"a":  strings.Count(got, "message\r\n$1\r\na\r\n"),
					"bb": strings.Count(got, "$2\r\nbb\r\n$10006"),
				}
				told := map[string]int{"a": 0, "bb": 0}
				for _, piece := range strings.Split(got, ">3\r\n$7\r\ndropped\r\n")[1:] {
					var size, lost int
					var channel string
					if _, err := fmt.Sscanf(piece, "$%d\r\n%s\r\n:%d\r\n", &size, &channel, &lost); err != nil {
						t.Fatalf("%v in %q", err, cut(piece))
					}
					told[channel] += lost
				}
				for channel, n := range sent {
					if count[channel]+told[channel] != n || told[channel] == 0 {
						t.Errorf("%s: %d sent, %d arrived, told of %d", channel, n, count[channel], told[channel])
					}
				}
				slow.close()
				p.close()
				b.stop()
			})
		})
	}
}

// The session's own policy comes before that of the channel, that before the
// user's, and that before the common one.
func TestSlow_WhichPolicyHolds(t *testing.T) {
	common := SlowPolicy{SlowDropNewest, 1}
	user, own := SlowPolicy{SlowConflate, 2}, SlowPolicy{SlowDropOldest, 3}
	channel := SlowPolicy{SlowDisconnect, 0}
	g := newDiscardGroup(1)
	l := g.loops[0]
	l.Apply(Settings{Slow: &SlowPolicies{
		Default: common, Channels: []ChannelPolicy{{"news.*", channel}}, Users: map[string]SlowPolicy{"bob": user},
	}})
	s := g.discardSession(l)
	check := func(name string, want SlowPolicy) {
		t.Helper()
		if got := l.slowPolicy(s, name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	check("other", common)
	check("news.a", channel)
	s.SetUser("bob")
	check("other", user)
	check("news.a", channel)
	s.SetSlowPolicy(&own)
	check("other", own)
	check("news.a", own)
}

// Default limits hold for sessions whose policy is to disconnect, also beside
// channels that may drop.
func TestSlow_DisconnectStillDisconnects(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards, func(c *Config) {
			c.PubSubLimit.HardBytes = 500_000
			c.Slow = &SlowPolicies{Channels: []ChannelPolicy{{"lossy*", SlowPolicy{SlowDropOldest, 50_000}}}}
		})
		slow, p := b.dialPaused(), b.dial()
		slow.send("SUB lossy strict")
		synctest.Wait()
		for i := range 100 {
			p.send("PUB lossy " + payload(i))
			expect(t, p, number(1))
		}
		for i := range 40 {
			p.send("PUB strict " + payload(i))
			expect(t, p, number(1))
		}
		p.send("PUB strict x") // what closed it counted it still
		synctest.Wait()
		p.take()
		for i := range 20 {
			p.send("PUB strict " + payload(i))
		}
		synctest.Wait()
		if left, _ := b.charged(); left[1] != 0 {
			t.Errorf("a session may owe %d bytes of messages that must not be dropped", left[1])
		}
		slow.close()
		p.close()
		b.stop()
	})
}

// TestBacklog_Model compares what leaves a backlog with a list of messages
// under the same rules, and its sums with the truth.
func TestBacklog_Model(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := newDiscardGroup(1)
		s := g.discardSession(g.loops[0])
		names := [][]byte{[]byte("a"), []byte("b"), []byte("c")}
		s.Subscribe(0, names)
		q := &backlog{}
		type item struct {
			text, channel string
			own           bool
		}
		var model []item
		var want, got strings.Builder
		size := func() (n int64) {
			for _, it := range model {
				if !it.own {
					n += int64(len(it.text))
				}
			}
			return n
		}
		policy := SlowPolicy{SlowKind(1 + r.IntN(3)), int64(200 + r.IntN(3000))}
		for i := range 2000 {
			switch r.IntN(10) {
			case 0: // leaves in part
				o := &outbox{}
				if !q.refill(o) {
					if q.bytes != 0 || q.messages != 0 {
						t.Fatalf("seed %d: %d bytes, %d of messages are left in the sums", seed, q.bytes, q.messages)
					}
					q = &backlog{}
				}
				o.seal()
				var left strings.Builder
				for _, seg := range o.segments[o.head:] {
					left.Write(seg)
				}
				got.WriteString(left.String())
				for n := left.Len(); n > 0; model = model[1:] {
					n -= len(model[0].text)
					want.WriteString(model[0].text)
				}
			case 1, 2:
				text := fmt.Sprintf("+%d\r\n", i)
				q.w.B = append(q.w.B, text...)
				model = append(model, item{text, "", true})
			default:
				sub := s.subs.list[r.IntN(3)]
				text := string(resp.AppendMessage(nil, resp.Message, []byte(sub.Name()), []byte(strings.Repeat("x", r.IntN(100))+strconv.Itoa(i))))
				lost := q.add(undelivered{sub: sub, head: []byte(text)}, policy, sub.Name(), false)
				var dropped int64
				drop := func(match func(item) bool) bool {
					for j, it := range model {
						if !it.own && match(it) {
							model = append(model[:j:j], model[j+1:]...)
							dropped++
							return true
						}
					}
					return false
				}
				if policy.Kind == SlowConflate {
					drop(func(it item) bool { return it.channel == sub.Name() })
				}
				refused := false
				for size()+int64(len(text)) > policy.LimitBytes {
					if policy.Kind == SlowDropNewest || !drop(func(item) bool { return true }) {
						refused = true
						dropped++
						break
					}
				}
				if !refused {
					model = append(model, item{text, sub.Name(), false})
				}
				if lost != dropped {
					t.Fatalf("seed %d, step %d: %d lost, want %d", seed, i, lost, dropped)
				}
			}
			if q.messages != size() {
				t.Fatalf("seed %d, step %d: %d bytes of messages, want %d", seed, i, q.messages, size())
			}
		}
		for more := true; more; {
			o := &outbox{}
			more = q.refill(o)
			o.seal()
			for _, seg := range o.segments[o.head:] {
				got.Write(seg)
			}
		}
		for _, it := range model {
			want.WriteString(it.text)
		}
		if got.String() != want.String() {
			t.Fatalf("seed %d, %v: what left is not what should have", seed, policy)
		}
		if q.bytes != 0 || q.messages != 0 {
			t.Fatalf("seed %d: %d bytes, %d of messages are left in the sums", seed, q.bytes, q.messages)
		}
	}
}

func TestSlow_BehindSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBroker(t, 1, withPolicy(SlowDropOldest, 100_000))
		slow, p := b.dialPaused(), b.dial()
		slow.send("SUB a")
		for i := range 30 {
			p.send("PUB a " + payload(i))
		}
		synctest.Wait()
		time.Sleep(5 * time.Second)
		behind := func() (d time.Duration) {
			b.group.Each(func(l *Loop) {
				for _, s := range l.sessions {
					if s.id == 1 {
						d = s.BehindFor()
					}
				}
			})
			return d
		}
		if d := behind(); d.Round(time.Second) != 5*time.Second {
			t.Errorf("behind for %v, want 5s", d)
		}
		close(slow.paused)
		synctest.Wait()
		if d := behind(); d != 0 {
			t.Errorf("behind for %v after catching up", d)
		}
		slow.close()
		p.close()
		b.stop()
	})
}

// A message that eight clients are owed is charged eight times and held once,
// and when they have read nothing is.
func TestQueued_SharedBytesAreHeldOnce(t *testing.T) {
	for _, kind := range []SlowKind{SlowDisconnect, SlowDropOldest} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestBroker(t, 2, withPolicy(kind, 1<<30))
				var clients []*testClient
				for range 8 {
					c := b.dialPaused()
					c.send("SUB a")
					clients = append(clients, c)
				}
				p := b.dial()
				synctest.Wait()
				for i := range 300 {
					p.send("PUB a " + payload(i))
				}
				synctest.Wait()
				queued := func() (all Queued, sum int64) {
					all = Queued{held: map[*byte]int{}}
					parts := make(chan Queued, 2)
					b.group.Each(func(l *Loop) { parts <- l.Queued() })
					for range 2 {
						all.Add(<-parts)
					}
					_, sum = b.charged()
					return all, sum
				}
				all, sum := queued()
				const published = 300 * 10_000
				if all.Owed < 7*published || all.Owed > sum {
					t.Errorf("%d bytes are owed, the sessions are charged %d", all.Owed, sum)
				}
				if held := all.HeldBytes(); held < published*9/10 || held > 2*published {
					t.Errorf("%d bytes are held of %d published", held, published)
				}
				for _, c := range clients {
					close(c.paused)
				}
				synctest.Wait()
				if all, _ := queued(); all.Owed != 0 || all.HeldBytes() != 0 {
					t.Errorf("%d bytes are owed, %d held by clients that have everything", all.Owed, all.HeldBytes())
				}
				for _, c := range append(clients, p) {
					c.close()
				}
				b.stop()
			})
		})
	}
}
