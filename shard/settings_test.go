package shard

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"broker/channelstore"
)

func TestSuspend_LaterCommandsWait(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		c, p := b.dial(), b.dial()
		c.send("SUB a")
		expect(t, c, ack("subscribe", "a", 1))
		for _, tt := range []struct{ command, reply string }{
			{"WAIT", "+WAITED\r\n"}, {"OFFLOAD", ":7\r\n"},
		} {
			c.send("PING", tt.command, "PING")
			expect(t, c, "+PONG\r\n")
			p.send("PUB a x") // arrives meanwhile
			expect(t, p, number(1))
			expect(t, c, message("a", "x"))
			time.Sleep(2 * time.Second)
			expect(t, c, tt.reply+"+PONG\r\n")
		}
		c.send("WAIT")
		synctest.Wait()
		c.close() // nobody is left to answer
		time.Sleep(2 * time.Second)
		p.send("PING")
		expect(t, p, "+PONG\r\n")
		p.close()
		b.stop()
	})
}

func TestMute_SilencesRepliesAndNotMessages(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		c, p := b.dial(), b.dial()
		c.send("SUB a")
		expect(t, c, ack("subscribe", "a", 1))
		c.send("MUTED PING", "PING", "MUTED WAIT", "PING")
		expect(t, c, "+PONG\r\n")
		p.send("PUB a x")
		expect(t, p, number(1))
		expect(t, c, message("a", "x"))
		time.Sleep(2 * time.Second)
		expect(t, c, "+PONG\r\n")
		c.close()
		p.close()
		b.stop()
	})
}

func TestHoldDeliveries_MessagesComeBehindTheReply(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		c, p := b.dial(), b.dial()
		c.send("SUB a")
		expect(t, c, ack("subscribe", "a", 1))
		big := strings.Repeat("x", 2*largeBytes)
		c.send("HELDREPLY", "PING")
		synctest.Wait()
		p.send("PUB a 1", "PUB a "+big, "PUB a 2")
		expect(t, p, number(1)+number(1)+number(1))
		expect(t, c, ":1\r\n")
		time.Sleep(2 * time.Second)
		expect(t, c, ":2\r\n"+message("a", "1")+message("a", big)+message("a", "2")+"+PONG\r\n")
		p.send("PUB a 3")
		expect(t, p, number(1))
		expect(t, c, message("a", "3"))
		c.close()
		p.close()
		b.stop()
	})
}

// What is held counts against the output limit.
func TestHoldDeliveries_IsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards, func(c *Config) { c.PubSubLimit.HardBytes = 100_000 })
		c, p := b.dial(), b.dial()
		c.send("SUB a")
		expect(t, c, ack("subscribe", "a", 1))
		c.send("HELDREPLY")
		synctest.Wait()
		for range 200 {
			p.send("PUB a " + strings.Repeat("x", 1000))
		}
		synctest.Wait()
		if !c.isClosed() {
			t.Error("a session that holds more than its limit is not closed")
		}
		c.close()
		p.close()
		b.stop()
	})
}

func TestApply_LimitsHoldForSessionsThatExist(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		slow, p := b.dialPaused(), b.dial()
		slow.send("SUB a")
		synctest.Wait()
		for range 500 {
			p.send("PUB a " + strings.Repeat("x", 1000))
		}
		synctest.Wait()
		p.take()
		b.group.Each(func(l *Loop) {
			st := l.Settings()
			st.PubSubLimit.HardBytes = 100_000
			l.Apply(st)
		})
		p.send("PUB a x")
		synctest.Wait()
		p.take()
		p.send("PUB a x")
		expect(t, p, number(0))
		slow.close()
		p.close()
		b.stop()
	})
}

func TestIdleTimeout_SparesWhoWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards, func(c *Config) { c.IdleTimeout = 10 * time.Second })
		idle, busy, sub, fed, waiting := b.dial(), b.dial(), b.dial(), b.dial(), b.dial()
		all := []*testClient{idle, busy, sub, fed, waiting}
		for _, c := range all {
			c.send("PING")
		}
		sub.send("PSUB a*")
		fed.send("FEEDME")
		for range 15 {
			time.Sleep(time.Second)
			busy.send("PING")
		}
		synctest.Wait()
		for i, c := range all {
			if want := c == idle || c == waiting; c.isClosed() != want {
				t.Errorf("client %d closed: %v, want %v", i, c.isClosed(), want)
			}
		}
		// Who leaves its last channel is idle from then on.
		sub.send("PUNSUB a*")
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if sub.isClosed() {
			t.Error("closed too early")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if !sub.isClosed() {
			t.Error("an idle client that has unsubscribed stays")
		}
		for _, c := range all {
			c.close()
		}
		b.stop()
	})
}

func TestAnonymous_Limits(t *testing.T) {
	anonymous := func(c *Config) {
		c.AuthTimeout = 10 * time.Second
		c.Opened = func(s *Session) { s.SetAnonymous(true) }
	}
	args := func(n int) string { return "PING" + strings.Repeat(" x", n-1) }
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards, anonymous)
		many, large, silent, member, flood := b.dial(), b.dial(), b.dial(), b.dial(), b.dialPaused()
		many.send(args(10))
		expect(t, many, "+PONG\r\n")
		many.sendRaw([]byte("*11\r\n"))
		expect(t, many, "-ERR Protocol error: unauthenticated multibulk length\r\n")
		large.sendRaw([]byte("*2\r\n$4\r\nPING\r\n$16385\r\n"))
		expect(t, large, "-ERR Protocol error: unauthenticated bulk length\r\n")
		member.send("LOGIN", args(11))
		expect(t, member, "+OK\r\n+PONG\r\n")
		// What the driver takes for the socket, and 1 KiB.
		for range 200 {
			if _, err := flood.conn.Write([]byte(strings.Repeat("nonsense", 100) + "\r\n")); err != nil {
				break
			}
			synctest.Wait()
		}
		if left, _ := b.charged(); left[5] != 0 {
			t.Errorf("a client that has not logged in may leave %d bytes unread", left[5])
		}
		flood.close()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if !silent.isClosed() || member.isClosed() {
			t.Errorf("closed after the time to log in: %v, member %v", silent.isClosed(), member.isClosed())
		}
		for _, c := range []*testClient{many, large, silent, member} {
			c.close()
		}
		b.stop()
	})
}

// The largest go first, and only as many as it takes.
func TestClientMemory_EvictsTheLargest(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		const limit = 4 << 20
		b := newTestBroker(t, shards, func(c *Config) { c.ClientMemory = limit })
		p := b.dial()
		var slow []*testClient
		for i := range 8 {
			c := b.dialPaused()
			c.send("SUB c" + strconv.Itoa(i))
			slow = append(slow, c)
		}
		exempt := b.dialPaused()
		exempt.send("SUB c7")
		synctest.Wait()
		b.group.Each(func(l *Loop) {
			for _, s := range l.sessions {
				if s.id == 10 {
					s.Attrs().NoEvict = true
				}
			}
		})
		// Some 2.5 MiB in all, the more the higher the number; then 2 MiB more
		// for one. What the driver takes for the sockets is not counted.
		chunk := strings.Repeat("x", 16<<10)
		for i := range slow {
			for range 4*i + 3 {
				p.send("PUB c" + strconv.Itoa(i) + " " + chunk)
			}
		}
		synctest.Wait()
		for i, c := range slow {
			if c.isClosed() {
				t.Fatalf("client %d is closed under the limit", i)
			}
		}
		for range 128 {
			p.send("PUB c6 " + chunk)
		}
		synctest.Wait()
		left, total := b.charged()
		for i := range slow {
			if _, alive := left[uint64(i)+2]; alive == (i == 6) {
				t.Errorf("client %d alive: %v; only 6, the largest that may be, is to be evicted", i, alive)
			}
		}
		if total > limit {
			t.Errorf("%d bytes are still charged", total)
		}
		for _, c := range append(slow, exempt, p) {
			c.close()
		}
		b.stop()
	})
}

// An unfinished command counts, also when nothing else happens, and nobody
// else pays for it.
func TestClientMemory_UnfinishedInput(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards, func(c *Config) { c.ClientMemory = 1 << 20 })
		large, other := b.dial(), b.dial()
		other.send("PING")
		expect(t, other, "+PONG\r\n")
		large.sendRaw([]byte("*1\r\n$3000000\r\n" + strings.Repeat("x", 1_200_000)))
		time.Sleep(time.Second)
		synctest.Wait()
		if !large.isClosed() || other.isClosed() {
			t.Errorf("closed: the large one %v, the other %v", large.isClosed(), other.isClosed())
		}
		for range 5 {
			other.send("PING")
			expect(t, other, "+PONG\r\n")
			time.Sleep(time.Second)
		}
		large.close()
		other.close()
		b.stop()
	})
}

// Who is closed from another loop is counted no more when CloseNow returns.
func TestCloseNow_LeavesTheStore(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		victim, p := b.dial(), b.dial()
		victim.send("SUB a", "PSUB a*")
		synctest.Wait()
		b.group.Each(func(l *Loop) {
			l.Sessions(func(s *Session) bool {
				if s.id == 1 {
					s.CloseNow(CloseByKill)
					if list := l.group.store.Find(channelstore.Channels, []byte("a")); list != nil {
						t.Error("a session that was closed is still in the store")
					}
				}
				return true
			})
		})
		p.send("PUB a x")
		expect(t, p, number(0))
		victim.close()
		p.close()
		b.stop()
	})
}

// A loop with nothing to do sleeps, whatever was set before: each reason to wake
// goes with what it was for.
func TestTimeout_NothingIsLeftBehind(t *testing.T) {
	g := newDiscardGroup(1)
	l := g.loops[0]
	s := g.discardSession(l)
	for _, settings := range []Settings{
		{ClientMemory: 1 << 20}, {IdleTimeout: time.Hour}, {ClientMemory: 1 << 20, IdleTimeout: time.Hour},
		{AuthTimeout: time.Hour},
	} {
		l.Apply(settings)
		for range 20 {
			s.Reply().OK() // keeps the turn from sleeping
			l.turn()
			l.now += int64(tickPeriod) / 3
		}
		s.Reply().OK()
		l.turn()
		if d := l.timeout(); d == 0 {
			t.Errorf("%+v: spins", settings)
		}
		l.Apply(Settings{})
		s.Reply().OK()
		l.turn()
		if d := l.timeout(); d >= 0 {
			t.Errorf("after %+v: sleeps %v, want until something happens", settings, d)
		}
	}
}

// charged returns what each session that has not ended is charged, and the sum.
func (b *testBroker) charged() (map[uint64]int64, int64) {
	var mu sync.Mutex
	all := map[uint64]int64{}
	total := int64(0)
	b.group.Each(func(l *Loop) {
		mu.Lock()
		defer mu.Unlock()
		l.Sessions(func(s *Session) bool {
			all[s.id] = s.memory()
			total += s.memory()
			return true
		})
	})
	return all, total
}
