package command

import (
	"fmt"
	"strings"
	"testing"

	"broker/channelstore"
	"broker/shard"
)

// TestRevocation_ClosesWhoHasLostAChannel: what a subscriber holds, what
// happens to its user, and whether it stays. Redis 8.0.6 was seen to do the
// same.
func TestRevocation_ClosesWhoHasLostAChannel(t *testing.T) {
	for _, tt := range []struct {
		rules, subscribe, change string
		closed                   bool
	}{
		{"&*", "SUBSCRIBE a", "ACL SETUSER bob resetchannels", true},
		{"&*", "SUBSCRIBE a", "ACL SETUSER bob resetchannels &a*", false},
		{"&a* &b*", "SUBSCRIBE a b", "ACL SETUSER bob resetchannels &a*", true},
		{"&a* &b*", "SUBSCRIBE a", "ACL SETUSER bob resetchannels &a*", false},
		{"&*", "SSUBSCRIBE a", "ACL SETUSER bob resetchannels &b", true},
		{"&*", "SSUBSCRIBE a", "ACL SETUSER bob resetchannels &?", false},
		{"&*", "PSUBSCRIBE a*", "ACL SETUSER bob resetchannels &a*", false},
		{"&*", "PSUBSCRIBE a*", "ACL SETUSER bob resetchannels &a* &b", false},
		{"&*", "PSUBSCRIBE ab*", "ACL SETUSER bob resetchannels &a*", true}, // literally
		{"&*", "PSUBSCRIBE a", "ACL SETUSER bob resetchannels &a*", true},
		{"&a*", "SUBSCRIBE a", "ACL SETUSER bob resetchannels (+ping &a*)", false}, // any selector counts
		{"(+subscribe &a)", "SUBSCRIBE a", "ACL SETUSER bob clearselectors", true},
		{"&a", "SUBSCRIBE a", "ACL SETUSER bob &b +@all -@dangerous", false},
		{"&a", "SUBSCRIBE a", "ACL SETUSER bob -subscribe", false},
		{"&a", "SUBSCRIBE a", "ACL SETUSER bob -@all", false},
		{"&a", "SUBSCRIBE a", "ACL SETUSER bob off resetpass", false},
		{"&a", "SUBSCRIBE a", "ACL SETUSER bob reset", true},
		{"&a", "SUBSCRIBE a", "ACL SETUSER bob resetchannels foo", false}, // an error
		{"&a", "SUBSCRIBE a", "ACL SETUSER third resetchannels", false},
		{"&a", "SUBSCRIBE a", "ACL DELUSER bob", true},
		{"&a", "PING", "ACL SETUSER bob resetchannels", false},
		{"&a", "PING", "ACL DELUSER bob", true},
	} {
		t.Run(tt.rules+" "+tt.subscribe+" "+tt.change, func(t *testing.T) {
			srv := startServer(t, 3)
			srv.setUser("bob on nopass +@all " + tt.rules)
			srv.setUser("other on nopass +@all &*")
			srv.setUser("third on nopass +@all &*")
			admin := srv.dial()
			var bobs []*client
			for range 4 { // on all loops, also that of admin
				c := srv.login("bob", "x")
				words := strings.Fields(tt.subscribe)
				c.do(words...)
				for range words[min(2, len(words)):] {
					c.read()
				}
				bobs = append(bobs, c)
			}
			bystander := srv.login("other", "x")
			bystander.do("SUBSCRIBE", "a")
			admin.do(strings.Fields(tt.change)...)
			for _, c := range bobs {
				if tt.closed {
					c.expectClosed()
				} else if got := c.do("HELLO"); got[0] != '%' && !strings.HasPrefix(got, "-NOPERM") {
					t.Errorf("a subscriber that stays answers %q", got)
				}
			}
			if got := bystander.do("PING"); got != "+PONG\r\n" {
				t.Errorf("a bystander answers %q", got)
			}
			if tt.closed {
				// The end of the connection comes behind the end of its subscriptions.
				if got := admin.do("PUBSUB", "NUMSUB", "a"); got != "*2\r\n"+bulk("a")+":1\r\n" {
					t.Errorf("PUBSUB NUMSUB: %q", got)
				}
			}
		})
	}
}

// When the change is answered for, a message that follows reaches nobody who
// is not allowed any more. It may still be counted, as in Redis.
func TestRevocation_IsInForceWhenAnswered(t *testing.T) {
	srv := startServer(t, 3)
	srv.setUser("bob on nopass +@all &a")
	admin := srv.dial()
	for range 50 {
		c := srv.login("bob", "x")
		c.do("SUBSCRIBE", "a")
		admin.send("ACL", "SETUSER", "bob", "resetchannels")
		admin.send("PUBLISH", "a", "late")
		if got := admin.read() + admin.read(); got != ok+":0\r\n" && got != ok+":1\r\n" {
			t.Fatalf("got %q", got)
		}
		c.expectClosed()
		srv.setUser("bob &a")
	}
}

// The one that asks is answered before it is closed.
func TestRevocation_OfOneself(t *testing.T) {
	for _, change := range []string{"ACL SETUSER bob resetchannels", "ACL DELUSER bob"} {
		srv := startServer(t, 2)
		srv.setUser("bob on nopass +@all &*")
		c := srv.login("bob", "x")
		c.do("SUBSCRIBE", "a")
		if got := c.do(strings.Fields(change)...); got != ok && got != ":1\r\n" {
			t.Errorf("%s: %q", change, got)
		}
		c.expectClosed()
	}
}

func TestRevocation_OfTheDefaultUser(t *testing.T) {
	srv := startServer(t, 2)
	srv.setUser("admin on nopass +@all &*")
	admin, c := srv.login("admin", "x"), srv.dial()
	c.do("SUBSCRIBE", "a")
	converse(t, admin, []turn{{"ACL SETUSER default resetchannels &b", ok}})
	c.expectClosed()
	d := srv.dial()
	converse(t, d, []turn{{"SUBSCRIBE a", noChannel}, {"SUBSCRIBE b", "*3\r\n" + bulk("subscribe") + bulk("b") + ":1\r\n"}})
}

// TestRevocation_FollowsTheUserWhoSubscribed: a subscription stays the matter
// of the user who was allowed to make it, whoever has logged in since (redis
// pull request 15468).
func TestRevocation_FollowsTheUserWhoSubscribed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		course string // of the client, separated by ;
		change string
		closed bool
	}{
		{"an earlier user loses it", "AUTH alice x;SUBSCRIBE a;AUTH bob x", "ACL SETUSER alice resetchannels", true},
		{"an earlier user is deleted", "AUTH alice x;PSUBSCRIBE a*;AUTH bob x", "ACL DELUSER alice", true},
		{"the user before the last loses it", "AUTH alice x;SSUBSCRIBE a;AUTH bob x;AUTH carol x", "ACL SETUSER alice resetchannels", true},
		{"one in between loses it", "AUTH alice x;AUTH bob x;SUBSCRIBE a;AUTH carol x;SUBSCRIBE b", "ACL SETUSER bob resetchannels", true},
		{"an earlier user keeps it", "AUTH alice x;SUBSCRIBE a;AUTH bob x", "ACL SETUSER alice resetchannels &a*", false},
		{"the present user never had it", "AUTH alice x;SUBSCRIBE a;AUTH bob x", "ACL SETUSER bob resetchannels", false},
		{"the present user is deleted", "AUTH alice x;SUBSCRIBE a;AUTH bob x", "ACL DELUSER bob", true},
		{"the present user loses his own", "AUTH alice x;SUBSCRIBE a;AUTH bob x;SUBSCRIBE b", "ACL SETUSER bob resetchannels &a", true},
		{"subscribed again", "AUTH alice x;SUBSCRIBE a;AUTH bob x;SUBSCRIBE a", "ACL SETUSER alice resetchannels", false},
		{"subscribed again, by one who loses it", "AUTH alice x;SUBSCRIBE a;AUTH bob x;SUBSCRIBE a", "ACL SETUSER bob resetchannels", true},
		{"unsubscribed", "AUTH alice x;SUBSCRIBE a b;AUTH bob x;UNSUBSCRIBE a b", "ACL DELUSER alice", false},
		{"logged in again", "AUTH alice x;SUBSCRIBE a;AUTH bob x;AUTH alice x", "ACL SETUSER bob resetchannels", false},
		{"logged in again and lost", "AUTH alice x;SUBSCRIBE a;AUTH bob x;AUTH alice x", "ACL SETUSER alice resetchannels", true},
		{"a shard channel of the same name", "AUTH alice x;SUBSCRIBE a;AUTH bob x;SSUBSCRIBE a", "ACL SETUSER bob resetchannels", true},
		{"the default user loses it", "SUBSCRIBE a;AUTH bob x", "ACL SETUSER default resetchannels", true},
		{"a failed login changes nothing", "AUTH alice x;SUBSCRIBE a;AUTH nobody x", "ACL SETUSER alice resetchannels", true},
		{"reset forgets", "AUTH alice x;SUBSCRIBE a;AUTH bob x;RESET;HELLO 3", "ACL DELUSER alice", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := startServer(t, 2)
			srv.setUser("admin on nopass +@all &*")
			for _, name := range []string{"alice", "bob", "carol"} {
				srv.setUser(name + " on nopass +@all &*")
			}
			admin, c := srv.login("admin", "x"), srv.dial()
			c.do("HELLO", "3")
			for step := range strings.SplitSeq(tt.course, ";") {
				words := strings.Fields(step)
				c.do(words...)
				if strings.Contains(words[0], "SUBSCRIBE") {
					for range words[2:] {
						c.read()
					}
				}
			}
			admin.do(strings.Fields(tt.change)...)
			if tt.closed {
				c.expectClosed()
			} else if got := c.do("PING"); got != "+PONG\r\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestRevocation_DuringALongSubscribe takes channels away while a command that
// needs many turns is going to subscribe to them. Whatever the moment, nobody
// holds one afterwards: whoever takes them away sees only what is held by then,
// which may be all allowed still.
func TestRevocation_DuringALongSubscribe(t *testing.T) {
	const names = 20 * namesPerTurn
	srv := startServer(t, 2)
	srv.setUser("bob on nopass +@all &a* &b*")
	admin := srv.dial()
	words := []string{"SUBSCRIBE"}
	for i := range names {
		words = append(words, fmt.Sprint([]string{"a", "b"}[b2i(i > names-namesPerTurn)], i))
	}
	for round := range 6 {
		c := srv.login("bob", "x")
		read := make(chan int)
		c.send(words...)
		go func() { // reads what comes until the end
			n := 0
			var b strings.Builder
			for readReply(c.r, &b) == nil {
				b.Reset()
				n++
			}
			read <- n
		}()
		// From a slice further every time; the last ones come when all is done.
		for srv.group.Store().Count(channelstore.Channels) < min(names, 1+round*5*namesPerTurn) {
			admin.do("PING")
		}
		converse(t, admin, []turn{{"ACL SETUSER bob resetchannels &a*", ok}})
		if n := <-read; n > names {
			t.Errorf("%d acks", n)
		}
		srv.group.Each(func(l *shard.Loop) {
			l.Sessions(func(s *shard.Session) bool {
				if s.Subscribed() {
					t.Errorf("session %d holds %d channels", s.ID(), s.Subscriptions(channelstore.Channels))
				}
				return true
			})
		})
		srv.setUser("bob &b*")
	}
}

// TestRevocation_ConcurrentWithEverything has clients subscribe, log in and
// publish while users come, change and go. It is for the race detector; in the
// end nobody holds what its user is not allowed.
func TestRevocation_ConcurrentWithEverything(t *testing.T) {
	srv := startServer(t, 3)
	for _, name := range []string{"alice", "bob"} {
		srv.setUser(name + " on nopass +@all &*")
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	const clients = 4
	for i := range clients {
		go func() {
			defer func() { done <- struct{}{} }()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				c := srv.dial()
				for _, words := range [][]string{
					{"HELLO", "3", "AUTH", []string{"alice", "bob"}[n%2], "x"}, {"SUBSCRIBE", "a"}, {"AUTH", []string{"bob", "alice"}[i%2], "x"},
					{"PSUBSCRIBE", "b*"}, {"PUBLISH", "c", "m"}, {"ACL", "WHOAMI"}, {"MULTI"}, {"PUBLISH", "c", "m"}, {"EXEC"},
				} {
					var b strings.Builder
					if _, err := c.conn.Write([]byte(encode(words...))); err != nil {
						break
					}
					if err := readReply(c.r, &b); err != nil {
						break
					}
				}
				_ = c.conn.Close()
			}
		}()
	}
	admin := srv.dial()
	for i := range 150 {
		name := []string{"alice", "bob"}[i%2]
		admin.do("ACL", "SETUSER", name, "resetchannels", "&a")
		admin.do("ACL", "SETUSER", name, "-@all", "+@pubsub", "+auth")
		if i%5 == 0 {
			admin.do("ACL", "DELUSER", name)
		}
		admin.do("ACL", "SETUSER", name, "on", "nopass", "+@all", "&*")
	}
	close(stop)
	for range clients {
		<-done
	}
	holder := srv.login("alice", "x")
	holder.do("SUBSCRIBE", "a")
	admin.do("ACL", "SETUSER", "alice", "resetchannels")
	admin.do("ACL", "SETUSER", "bob", "resetchannels")
	holder.expectClosed()
	if got := admin.do("PUBLISH", "a", "x"); got != ":0\r\n" {
		t.Errorf("PUBLISH: %q", got)
	}
}
