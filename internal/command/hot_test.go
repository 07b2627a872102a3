package command

import (
	"strings"
	"testing"
	"time"

	"broker/shard"
)

// onLoop calls f with a session, inside a command of that session.
func onLoop(t testing.TB, f func(d *Dispatcher, s *shard.Session)) {
	done := make(chan struct{})
	srv := startServerWith(t, 1, func(d *Dispatcher, s *shard.Session, args [][]byte) {
		if string(args[0]) == "MEASURE" {
			f(d, s)
			close(done)
		}
	})
	srv.dial().send("MEASURE")
	<-done
}

// run runs one command as a read of its own and takes its reply back.
func run(d *Dispatcher, s *shard.Session, args [][]byte) {
	mark := len(s.Reply().B)
	d.Handle(s, args)
	w := s.Reply()
	w.B = w.B[:mark]
}

func request(words string) [][]byte {
	var args [][]byte
	for _, w := range strings.Fields(words) {
		args = append(args, []byte(w))
	}
	return args
}

func TestHandle_HotCommandsDoNotAllocate(t *testing.T) {
	for _, words := range []string{"PING", "ping hello", "PUBLISH a b", "PUBSUB NUMPAT", "CLIENT ID", "SELECT 0"} {
		onLoop(t, func(d *Dispatcher, s *shard.Session) {
			args := request(words)
			if n := testing.AllocsPerRun(100, func() {
				run(d, s, args)
				d.EndRun(s.Loop())
			}); n != 0 {
				t.Errorf("%s: %v allocations", words, n)
			}
		})
	}
}

// TestHandle_AlternatingSpellings: the cache of the last name holds one
// spelling and must not answer for another name.
func TestHandle_AlternatingSpellings(t *testing.T) {
	c := startServer(t, 1).dial()
	for range 3 {
		converse(t, c, []turn{
			{`PING`, "+PONG\r\n"},
			{`PIN`, e("unknown command 'PIN', with args beginning with: ")},
			{`ping`, "+PONG\r\n"},
			{`ECHO ping`, bulk("ping")},
			{`PINGS`, e("unknown command 'PINGS', with args beginning with: ")},
			{`PING`, "+PONG\r\n"},
		})
	}
}

// TestCommandStats_IdleTimeIsNobodys: between two reads a loop does other
// things, which are not the last command's time.
func TestCommandStats_IdleTimeIsNobodys(t *testing.T) {
	const idle = 5 * time.Millisecond
	onLoop(t, func(d *Dispatcher, s *shard.Session) {
		loop := s.Loop()
		began := loop.Nanotime()
		run(d, s, request("PING"))
		d.EndRun(loop)
		for until := loop.Nanotime() + int64(idle); loop.Nanotime() < until; {
		}
		run(d, s, request("ECHO x"))
		d.EndRun(loop)
		elapsed := loop.Nanotime() - began
		var sum int64
		for _, n := range loop.Local().(*local).commands {
			sum += n.nanos
		}
		if sum <= 0 || sum > elapsed-int64(idle) {
			t.Errorf("%d ns of commands in %d ns, of which %v were idle", sum, elapsed, idle)
		}
	})
}

// TestHandle_AfterAPanicTheRunIsDropped: the loop does not call EndRun then.
func TestHandle_AfterAPanicTheRunIsDropped(t *testing.T) {
	onLoop(t, func(d *Dispatcher, s *shard.Session) {
		ping := d.table.index["ping"]
		healthy := ping.run
		ping.run = func(*call) { panic("asked for") }
		func() {
			defer func() { _ = recover() }()
			d.Handle(s, request("PING"))
		}()
		ping.run = healthy
		run(d, s, request("ECHO x"))
		d.EndRun(s.Loop())
		if n := s.Loop().Local().(*local).commands[ping.number]; n.calls != 1 || n.nanos != 0 {
			t.Errorf("%+v, want one call and no time", n)
		}
	})
}

// BenchmarkHandle_Restricted is PUBLISH by a user who may publish to some
// channels only.
func BenchmarkHandle_Restricted(b *testing.B) {
	b.ReportAllocs()
	onLoop(b, func(d *Dispatcher, s *shard.Session) {
		change, err := d.Users().SetUser("bob", []string{"on", "nopass", "+publish", "&news.*", "&no*"})
		if err != nil {
			b.Fatal(err)
		}
		d.become(s, change.User)
		args := request("PUBLISH nobody payload")
		for b.Loop() {
			run(d, s, args)
		}
	})
}

// BenchmarkHandle measures this layer with the session's reply in a warm
// buffer: alone=true is one command per read, which pays for two readings of
// the clock.
func BenchmarkHandle(b *testing.B) {
	for _, words := range []string{"PING", "PUBLISH nobody payload", "PUBSUB NUMPAT"} {
		for _, alone := range []bool{false, true} {
			name := strings.Fields(words)[0] + "/alone=" + map[bool]string{true: "true", false: "false"}[alone]
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				onLoop(b, func(d *Dispatcher, s *shard.Session) {
					args := request(words)
					for b.Loop() {
						run(d, s, args)
						if alone {
							d.EndRun(s.Loop())
						}
					}
				})
			})
		}
	}
}
