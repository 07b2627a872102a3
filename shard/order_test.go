package shard

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// waitFor polls a condition that another goroutine will make true.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waiting for %s took too long", what)
		}
	}
}

// TestInvariant_TotalOrder has publishers on every shard talk to subscribers
// on every shard, through two channels and a pattern, with real concurrency.
func TestInvariant_TotalOrder(t *testing.T) {
	for _, shards := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			const publishers, subscribers, each = 8, 8, 300
			b := newTestBroker(t, shards)
			var subs, pubs []*testClient
			for range subscribers {
				subs = append(subs, b.dial())
			}
			for range publishers {
				pubs = append(pubs, b.dial())
			}
			for i, s := range subs {
				if i%2 == 0 {
					s.send("SUB a b")
				} else {
					s.send("PSUB ?")
				}
				waitFor(t, "the ack", func() bool {
					s.mu.Lock()
					defer s.mu.Unlock()
					return bytes.Count(s.got.Bytes(), []byte("subscribe\r\n")) == 2-i%2
				})
			}
			var wg sync.WaitGroup
			for p, c := range pubs {
				wg.Go(func() {
					for i := range each {
						c.send(fmt.Sprintf("PUB %c <%d.%d>", 'a'+byte(i%2), p, i))
					}
				})
			}
			wg.Wait()
			var first []string
			for i, s := range subs {
				waitFor(t, "the messages", func() bool {
					s.mu.Lock()
					defer s.mu.Unlock()
					return bytes.Count(s.got.Bytes(), []byte("<")) == publishers*each
				})
				var order []string
				next := make([]int, publishers)
				for _, line := range strings.Split(s.take(), "\r\n") {
					if !strings.HasPrefix(line, "<") {
						continue
					}
					order = append(order, line)
					var p, n int
					if _, err := fmt.Sscanf(line, "<%d.%d>", &p, &n); err != nil {
						t.Fatal(err)
					}
					if n != next[p] {
						t.Fatalf("subscriber %d got %s, want <%d.%d> (fifo)", i, line, p, next[p])
					}
					next[p]++
				}
				if first == nil {
					first = order
				}
				for j := range order {
					if order[j] != first[j] {
						t.Fatalf("subscriber %d got %s as message %d, subscriber 0 got %s", i, order[j], j, first[j])
					}
				}
			}
			for _, c := range append(subs, pubs...) {
				c.close()
			}
			b.stop()
		})
	}
}

// TestInvariant_NeverWait publishes to a subscriber who has stopped reading.
func TestInvariant_NeverWait(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		stuck, ok, p := b.dialPaused(), b.dial(), b.dial()
		stuck.send("SUB news")
		ok.send("SUB news")
		synctest.Wait()
		ok.take()
		payload := strings.Repeat("x", 50_000)
		for range 100 {
			p.send("PUB news " + payload)
			expect(t, p, number(2))
			expect(t, ok, message("news", payload))
		}
		stuck.close()
		ok.close()
		p.close()
		b.stop()
	})
}

// TestInvariant_SharedBytes looks at the queues of clients that are behind:
// each protocol version's bytes exist once.
func TestInvariant_SharedBytes(t *testing.T) {
	for _, size := range []int{1000, 2 * largeBytes} {
		t.Run(fmt.Sprintf("payload=%d", size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestBroker(t, 2)
				var clients []*testClient
				for i := range 8 {
					c := b.dialPaused()
					if i >= 4 {
						c.send("HELLO3")
					}
					c.send("SUB news")
					clients = append(clients, c)
				}
				p := b.dial()
				synctest.Wait()
				const n = 1000
				for range n {
					p.send("PUB news " + strings.Repeat("x", size))
				}
				synctest.Wait()
				held := map[*byte]int{} // by the end of the allocation
				owed := int64(0)
				var mu sync.Mutex
				b.group.Each(func(l *Loop) {
					mu.Lock()
					defer mu.Unlock()
					l.Sessions(func(s *Session) bool {
						if s.out == nil {
							return true
						}
						owed += s.out.pending()
						for _, seg := range s.out.segments[s.out.head:] {
							if cap(seg) > 0 {
								end := &seg[:cap(seg)][cap(seg)-1]
								held[end] = max(held[end], cap(seg))
							}
						}
						return true
					})
				})
				total := 0
				for _, c := range held {
					total += c
				}
				// What a client that is behind holds of its own is a few chunks at most.
				if limit := 2*n*(size+100) + 8*6*chunkBytes; total > limit {
					t.Errorf("%d bytes are held for %d bytes owed to 8 clients; two copies are %d", total, owed, limit)
				}
				if owed < 8*(n-2*netChunkBytes/1000)*int64(size) {
					t.Errorf("only %d bytes are charged", owed)
				}
				for _, c := range clients {
					c.close()
				}
				p.close()
				b.stop()
			})
		})
	}
}

// TestInvariant_OneLoop checks that everything a session runs, it runs on one
// goroutine, whatever wakes it.
func TestInvariant_OneLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goroutine := func() string {
			buf := make([]byte, 64)
			return strings.Fields(string(buf[:runtime.Stack(buf, false)]))[1]
		}
		var mu sync.Mutex
		seen := map[*Session]map[string]bool{}
		b := newTestBroker(t, 4, func(c *Config) {
			handle := c.Handle
			c.Handle = func(s *Session, args [][]byte) {
				mu.Lock()
				if seen[s] == nil {
					seen[s] = map[string]bool{}
				}
				seen[s][goroutine()] = true
				mu.Unlock()
				handle(s, args)
			}
		})
		var clients []*testClient
		for range 8 {
			clients = append(clients, b.dial())
		}
		for range 20 {
			for _, c := range clients {
				c.send("SUB a", "PUB a x", "COUNT", "UNSUB a", "RESET")
			}
		}
		synctest.Wait()
		owners := map[string]string{}
		b.group.Each(func(l *Loop) {
			mu.Lock()
			defer mu.Unlock()
			me := goroutine()
			for _, s := range l.sessions {
				for g := range seen[s] {
					if g != me {
						t.Errorf("a session of shard %d ran on goroutine %s, its loop is %s", l.id, g, me)
					}
				}
			}
			owners[me] = ""
		})
		if len(seen) != 8 || len(owners) != 4 {
			t.Errorf("%d sessions ran on %d loops", len(seen), len(owners))
		}
		for _, c := range clients {
			c.close()
		}
		b.stop()
	})
}

// TestLoop_EarlierMessagesPrecedeLaterReplies has a message and a command wait
// for a loop at the same time: the message was acknowledged before the command
// was sent.
func TestLoop_EarlierMessagesPrecedeLaterReplies(t *testing.T) {
	for _, command := range []struct{ name, reply string }{
		{"PING", "+PONG\r\n"}, {"QUIT", "+OK\r\n"}, {"RESET", "+RESET\r\n"},
		{"UNSUB a", ack("unsubscribe", "a", 0)},
	} {
		t.Run(command.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestBroker(t, 2)
				s, p := b.dial(), b.dial()
				s.send("SUB a")
				expect(t, s, ack("subscribe", "a", 1))
				gate := make(chan struct{})
				var held sync.WaitGroup
				held.Go(func() {
					b.group.Each(func(l *Loop) {
						if len(l.sessions) > 0 && l.sessions[0].Subscribed() {
							<-gate
						}
					})
				})
				synctest.Wait()
				p.send("PUB a first")
				expect(t, p, number(1))
				s.send(command.name)
				synctest.Wait()
				close(gate)
				held.Wait()
				expect(t, s, message("a", "first")+command.reply)
				s.close()
				p.close()
				b.stop()
			})
		})
	}
}

func TestLoop_OwnMessagesFollowTheirReply(t *testing.T) {
	inBubble(t, func(t *testing.T, shards int) {
		b := newTestBroker(t, shards)
		s := b.dial()
		s.send("HELLO3", "SUB a", "PUB a 1", "PING", "PUB a 2", "UNSUB a", "PUB a 3")
		three := func(s string) string { return strings.Replace(s, "*", ">", 1) }
		expect(t, s, "+3\r\n"+three(ack("subscribe", "a", 1))+
			number(1)+three(message("a", "1"))+"+PONG\r\n"+
			number(1)+three(message("a", "2"))+three(ack("unsubscribe", "a", 0))+number(0))
		s.close()
		b.stop()
	})
}
