package shard

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs f once per shard count, and once over TLS, inside a synctest
// bubble.
func inBubble(t *testing.T, f func(t *testing.T, shards int)) {
	for _, shards := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, shards) })
		})
	}
	t.Run("shards=2"+overTLS, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, 2) })
	})
}

func expect(t *testing.T, c *testClient, want string) {
	t.Helper()
	synctest.Wait()
	if got := c.take(); got != want {
		t.Errorf("got  %q\nwant %q", cut(got), cut(want))
	}
}

func cut(s string) string {
	if len(s) > 600 {
		return s[:300] + " ... " + s[len(s)-300:]
	}
	return s
}

func TestLoop_PublishReachesEveryKindOfSubscription(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		a, c, p := b.dial(), b.dial(), b.dial()
		defer func() { a.close(); c.close(); p.close(); b.stop() }()

		a.send("SUB news", "PSUB n*")
		expect(t, a, ack("subscribe", "news", 1)+ack("psubscribe", "n*", 2))
		c.send("HELLO3", "SUB news", "SSUB news")
		expect(t, c, "+3\r\n"+strings.Replace(ack("subscribe", "news", 1), "*", ">", 1)+strings.Replace(ack("ssubscribe", "news", 1), "*", ">", 1))
		p.send("PUB news one", "PUB nobody two", "SPUB news three", "PUB none four", "PUB x five")
		expect(t, p, number(3)+number(1)+number(1)+number(1)+number(0))
		expect(t, a, message("news", "one")+pmessage("n*", "news", "one")+pmessage("n*", "nobody", "two")+pmessage("n*", "none", "four"))
		expect(t, c, strings.Replace(message("news", "one"), "*", ">", 1)+strings.Replace(smessage("news", "three"), "*", ">", 1))
	})
}

func TestLoop_LargeMessagesShareTheirPayload(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		a, c, p := b.dial(), b.dial(), b.dial()
		defer func() { a.close(); c.close(); p.close(); b.stop() }()
		payload := strings.Repeat("x", 3*largeBytes+7)

		a.send("SUB big", "PSUB *ig")
		c.send("HELLO3", "SUB big")
		synctest.Wait()
		a.take()
		c.take()
		p.send("PUB big small", "PUB big "+payload, "PUB big small")
		expect(t, p, number(3)+number(3)+number(3))
		both := func(m string) string { return message("big", m) + pmessage("*ig", "big", m) }
		expect(t, a, both("small")+both(payload)+both("small"))
		three := func(m string) string { return strings.Replace(message("big", m), "*", ">", 1) }
		expect(t, c, three("small")+three(payload)+three("small"))
	})
}

func TestInvariant_AckFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		p, s := b.dial(), b.dial()
		defer func() { p.close(); s.close(); b.stop() }()
		// The subscriber's loop stands still in the middle of the command's read
		// while the publisher's loop already sees the new list.
		release := b.holdOn("x")
		s.send("SUB news", "HOLD x")
		synctest.Wait()
		p.send("PUB news early")
		synctest.Wait()
		release()
		synctest.Wait()
		got := s.take()
		if !strings.HasPrefix(got, ack("subscribe", "news", 1)) {
			t.Errorf("the first bytes are %q, not the ack", cut(got))
		}
		if n := strings.Count(got, "early"); n != strings.Count(p.take(), ":1") {
			t.Errorf("%d messages arrived", n)
		}
	})
}

// TestInvariant_ExactCount has a publisher count a subscriber and stand still
// before it hands the message over, while the subscriber leaves.
func TestInvariant_ExactCount(t *testing.T) {
	for _, leave := range []struct{ command, after string }{
		{"UNSUB news", ack("unsubscribe", "news", 0)},
		{"UNSUB", ack("unsubscribe", "news", 0)},
		{"RESET", "+RESET\r\n"},
	} {
		t.Run(leave.command, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestBroker(t, 2)
				p, s := b.dial(), b.dial()
				defer func() { p.close(); s.close(); b.stop() }()
				s.send("SUB news")
				expect(t, s, ack("subscribe", "news", 1))

				release := b.holdOn("x")
				p.send("PUB news late", "HOLD x")
				synctest.Wait()
				s.send(leave.command, "PING")
				expect(t, s, "") // waits for the message it was counted for
				release()
				expect(t, p, number(1)+"+HELD\r\n")
				expect(t, s, message("news", "late")+leave.after+"+PONG\r\n")
				p.send("PUB news gone")
				expect(t, p, number(0))
				expect(t, s, "")
			})
		})
	}
}

func TestInvariant_NoLateMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		p, s := b.dial(), b.dial()
		defer func() { p.close(); s.close(); b.stop() }()
		s.send("SUB a b")
		synctest.Wait()
		s.take()
		// The message lies in the subscriber's inbox when UNSUB is read: it comes
		// before the frame, and nothing comes after it.
		release := b.holdOn("x")
		s.send("HOLD x", "UNSUB a", "PING")
		synctest.Wait()
		if shards > 1 {
			p.send("PUB a in-flight")
			synctest.Wait()
		}
		release()
		synctest.Wait()
		want := "+HELD\r\n" + ack("unsubscribe", "a", 1) + "+PONG\r\n"
		if shards > 1 {
			want = "+HELD\r\n" + message("a", "in-flight") + ack("unsubscribe", "a", 1) + "+PONG\r\n"
		}
		expect(t, s, want)
		p.send("PUB a late", "PUB b kept")
		expect(t, s, message("b", "kept"))
	})
}

func TestLoop_UnsubscribeForms(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		s := b.dial()
		defer func() { s.close(); b.stop() }()
		null := "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n"
		s.send("UNSUB", "UNSUB a a", "SUB a a b", "UNSUB a a c", "UNSUB", "UNSUB")
		expect(t, s, null+ack("unsubscribe", "a", 0)+ack("unsubscribe", "a", 0)+
			ack("subscribe", "a", 1)+ack("subscribe", "a", 1)+ack("subscribe", "b", 2)+
			ack("unsubscribe", "a", 1)+ack("unsubscribe", "a", 1)+ack("unsubscribe", "c", 1)+
			ack("unsubscribe", "b", 0)+null)
	})
}

func TestLoop_ManyNamesTakeSeveralTurns(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		s := b.dial()
		defer func() { s.close(); b.stop() }()
		const n = 3*sliceNames + 100
		var names, acks, unacks strings.Builder
		for i := range n {
			fmt.Fprintf(&names, " c%d", i)
			acks.WriteString(ack("subscribe", fmt.Sprintf("c%d", i), i+1))
			unacks.WriteString(ack("unsubscribe", fmt.Sprintf("c%d", i), n-1-i))
		}
		s.send("SUB"+names.String(), "PING", "UNSUB"+names.String(), "PING")
		expect(t, s, acks.String()+"+PONG\r\n"+unacks.String()+"+PONG\r\n")
		s.send("SUB"+names.String(), "UNSUB", "PING")
		synctest.Wait()
		got := s.take()
		if !strings.HasSuffix(got, ":0\r\n+PONG\r\n") || strings.Count(got, "unsubscribe") != n {
			t.Errorf("dropping all: %d frames, end %q", strings.Count(got, "unsubscribe"), got[len(got)-20:])
		}
		if n := b.group.store.Count(0); n != 0 {
			t.Errorf("%d channels are left in the store", n)
		}
	})
}

func TestLoop_PanicEndsOneSession(t *testing.T) {
	t.Run("in a command", func(t *testing.T) { testPanicEndsOneSession(t, "PANIC") })
	t.Run("while gathering", func(t *testing.T) { testPanicEndsOneSession(t, "COLLECTPANIC") })
	t.Run("off the loop", func(t *testing.T) { testPanicEndsOneSession(t, "OFFLOADPANIC") })
	t.Run("after a gather", func(t *testing.T) { testPanicEndsOneSession(t, "COUNTPANIC") })
}

func testPanicEndsOneSession(t *testing.T, command string) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		var all []*testClient
		for range 9 {
			all = append(all, b.dial())
		}
		bad := all[0]
		for _, c := range all {
			c.send("SUB news")
		}
		synctest.Wait()
		bad.send(command, "PING")
		synctest.Wait()
		if !bad.isClosed() {
			t.Error("the session that paniced is still open")
		}
		all[1].send("PUB news on")
		for i, c := range all[1:] {
			want := ack("subscribe", "news", 1) + message("news", "on")
			if i == 0 {
				want = ack("subscribe", "news", 1) + number(8) + message("news", "on")
			}
			expect(t, c, want)
		}
		var panics int64
		sums := make([]int64, shards)
		b.group.Each(func(l *Loop) { sums[l.Shard()] = l.Stats().Panics })
		for _, n := range sums {
			panics += n
		}
		if panics != 1 {
			t.Errorf("%d panics are counted, want 1", panics)
		}
		for _, c := range all {
			c.close()
		}
		b.stop()
	})
}

func TestLoop_HalfACommandAtATime(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		s, p := b.dial(), b.dial()
		defer func() { s.close(); p.close(); b.stop() }()
		for _, c := range []byte("*2\r\n$3\r\nSUB\r\n$4\r\nnews\r\n*1\r\n$4\r\nPING\r\n") {
			s.sendRaw([]byte{c})
		}
		expect(t, s, ack("subscribe", "news", 1)+"+PONG\r\n")
		payload := bytes.Repeat([]byte("0123456789"), 50_000)
		p.sendRaw([]byte("*3\r\n$3\r\nPUB\r\n$4\r\nnews\r\n$500000\r\n"))
		for i := 0; i < len(payload); i += 33_333 {
			p.sendRaw(payload[i:min(len(payload), i+33_333)])
		}
		p.sendRaw([]byte("\r\n"))
		expect(t, p, number(1))
		expect(t, s, message("news", string(payload)))
		synctest.Wait()
		b.group.Each(func(l *Loop) {
			l.Sessions(func(s *Session) bool {
				if s.in != nil || s.out != nil {
					t.Error("an idle session owns buffers")
				}
				return true
			})
		})
	})
}

func TestLoop_ProtocolErrorIsAnsweredAndCloses(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		s := b.dial()
		s.sendRaw([]byte("PING\r\n*1\r\n$x\r\nPING\r\n"))
		expect(t, s, "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n")
		if !s.isClosed() {
			t.Error("the connection is still open")
		}
		s.close()
		b.stop()
	})
}

func TestLoop_QuitDropsWhatFollows(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		s, w := b.dial(), b.dial()
		w.send("SUB a")
		expect(t, w, ack("subscribe", "a", 1))
		s.send("PING", "QUIT", "PUB a x", "PING")
		expect(t, s, "+PONG\r\n+OK\r\n")
		expect(t, w, "")
		if !s.isClosed() {
			t.Error("the connection is still open")
		}
		s.close()
		w.close()
		b.stop()
	})
}

// TestLoop_ClosedMeansNotCounted has a subscriber of many channels quit: once
// its client sees the end, PUBLISH does not count it.
func TestLoop_ClosedMeansNotCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		s, p := b.dial(), b.dial()
		var names strings.Builder
		for i := range 3*reapSlice + 5 {
			fmt.Fprintf(&names, " c%d", i)
		}
		s.send("SUB"+names.String(), "QUIT")
		// A connection in memory is closed in the same instant as it is seen to
		// be, by this goroutine.
		<-s.done
		counted := b.group.store.Subscriptions(0)
		if counted != 0 {
			t.Errorf("%d subscriptions are in the store when the client sees the end", counted)
		}
		s.close()
		p.close()
		b.stop()
	})
}

func TestLoop_GatherAnswersInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		var all []*testClient
		for range 5 {
			all = append(all, b.dial())
		}
		synctest.Wait()
		all[0].send("PING", "COUNT", "PING", "COUNT")
		expect(t, all[0], "+PONG\r\n:5\r\n+PONG\r\n:5\r\n")
		for _, c := range all {
			c.close()
		}
		b.stop()
	})
}

func TestLoop_HardLimitClosesASlowSubscriber(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards, func(c *Config) { c.PubSubLimit.HardBytes = 100_000 })
		slow, ok, p := b.dialPaused(), b.dial(), b.dial()
		slow.send("SUB news")
		ok.send("SUB news")
		synctest.Wait()
		ok.take()
		payload := strings.Repeat("x", 1000)
		counts := map[string]int{}
		for range 300 {
			p.send("PUB news " + payload)
			synctest.Wait()
			counts[p.take()]++
			if got := ok.take(); got != message("news", payload) {
				t.Fatalf("the healthy subscriber got %q", cut(got))
			}
		}
		// Everything up to the limit is queued, plus what the driver holds.
		if counts[number(2)] < 100 || counts[number(1)] < 150 || len(counts) != 2 {
			t.Errorf("replies: %v", counts)
		}
		slow.close()
		ok.close()
		p.close()
		b.stop()
	})
}

func TestLoop_SoftLimit(t *testing.T) {
	limit := func(c *Config) { c.PubSubLimit = OutputLimit{SoftBytes: 100_000, SoftPeriod: 2 * time.Second} }
	payload := strings.Repeat("x", 1000)

	t.Run("strikes without traffic", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newTestBroker(t, 2, limit)
			slow, p := b.dialPaused(), b.dial()
			slow.send("SUB news")
			synctest.Wait()
			for range 200 {
				p.send("PUB news " + payload)
			}
			synctest.Wait()
			p.take()
			time.Sleep(1900 * time.Millisecond)
			p.send("PUB news x")
			expect(t, p, number(1))
			time.Sleep(time.Second)
			p.send("PUB news x")
			expect(t, p, number(0))
			slow.close()
			p.close()
			b.stop()
		})
	})
	// The fault of redis issue 3893: two bursts that are each drained at once.
	t.Run("spares who drained in between", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newTestBroker(t, 2, limit)
			s, p := b.dial(), b.dial()
			s.send("SUB news")
			synctest.Wait()
			for range 5 {
				for range 200 {
					p.send("PUB news " + payload)
				}
				synctest.Wait()
				time.Sleep(3 * time.Second)
			}
			if got := strings.Count(s.take(), payload); got != 1000 || s.isClosed() {
				t.Errorf("%d of 1000 messages arrived, closed: %v", got, s.isClosed())
			}
			s.close()
			p.close()
			b.stop()
		})
	})
}

// TestInvariant_Bounded has a client ask for much more than it reads.
func TestInvariant_Bounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const backlog, replies = 3 << 20, 12
		b := newTestBroker(t, 1, func(c *Config) { c.ReplyBacklogBytes = backlog })
		s, other := b.dialPaused(), b.dial()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range replies {
				if _, err := s.conn.Write([]byte("BIG\r\n")); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		var owed int64
		b.group.Each(func(l *Loop) {
			l.Sessions(func(s *Session) bool {
				if s.out != nil {
					owed += s.out.pending()
				}
				return true
			})
		})
		if owed < backlog || owed > backlog+2*maxReplyBytesPerTurn+netChunkBytes {
			t.Errorf("%d bytes are queued; reading should stop near %d", owed, backlog)
		}
		other.send("PING")
		expect(t, other, "+PONG\r\n")
		close(s.paused) // now it reads, and gets everything
		<-sent
		synctest.Wait()
		if got, want := len(s.take()), replies*(len("$1048576\r\n\r\n")+1<<20); got != want {
			t.Errorf("%d bytes arrived, want %d", got, want)
		}
		s.close()
		other.close()
		b.stop()
	})
}

func TestGroup_ShutdownDeliversWhatWasAcknowledged(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		slow, p := b.dialPaused(), b.dial()
		slow.send("SUB news")
		synctest.Wait()
		payload := strings.Repeat("x", 1000)
		for range 500 {
			p.send("PUB news " + payload)
		}
		synctest.Wait()
		acked := strings.Count(p.take(), number(1))
		go func() {
			time.Sleep(500 * time.Millisecond)
			close(slow.paused)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := b.group.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		synctest.Wait()
		if got := strings.Count(slow.take(), payload); got != acked || acked != 500 {
			t.Errorf("%d messages arrived, %d were acknowledged", got, acked)
		}
		slow.close()
		p.close()
	})
}

func TestGroup_ShutdownGivesUpAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBroker(t, 2)
		stuck, p := b.dialPaused(), b.dial()
		stuck.send("SUB news")
		synctest.Wait()
		for range 100 {
			p.send("PUB news " + strings.Repeat("x", 1000))
		}
		synctest.Wait()
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_ = b.group.Shutdown(ctx)
		if d := time.Since(begin); d > 4*time.Second {
			t.Errorf("Shutdown took %v of the bubble's time", d)
		}
		stuck.close()
		p.close()
	})
}

// TestLoop_PanicWhileDelivering spoils one subscriber's state: the others get
// the message all the same.
func TestLoop_PanicWhileDelivering(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		var subs []*testClient
		for range 24 {
			c := b.dial()
			c.send("SUB news")
			subs = append(subs, c)
		}
		p := b.dial()
		synctest.Wait()
		b.group.Each(func(l *Loop) {
			for i, s := range l.sessions {
				if i == len(l.sessions)/2 && s.Subscribed() {
					s.loop = nil
				}
			}
		})
		p.send("PUB news one", "PUB news two")
		synctest.Wait()
		p.take()
		got, lost := 0, 0
		for _, c := range subs {
			switch c.take() {
			case ack("subscribe", "news", 1) + message("news", "one") + message("news", "two"):
				got++
			default:
				lost++
				if !c.isClosed() {
					t.Error("a session that paniced is still open")
				}
			}
		}
		if lost != shards {
			t.Errorf("%d subscribers lost their messages, %d were spoilt", lost, shards)
		}
		p.send("PUB news three")
		expect(t, p, number(got))
		for _, c := range append(subs, p) {
			c.close()
		}
		b.stop()
	})
}
