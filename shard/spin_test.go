package shard

import (
	"testing"
	"time"
)

// A loop spins while that finds work in time, and an idle one stops after a
// few spins in vain.
func TestSpin_Adapts(t *testing.T) {
	g := newDiscardGroup(1)
	l := g.loops[0]
	l.driver = &spinDriver{discardDriver: l.driver.(*discardDriver)}
	d := l.driver.(*spinDriver)
	l.Apply(Settings{Spin: Spin{Longest: 50 * time.Microsecond, Adaptive: true}})
	if l.spin() {
		t.Fatal("spins before it is known to be worth it")
	}
	for range spinFrom {
		l.now = 1000
		l.slept(0)
	}
	d.findAt = 3
	if !l.spin() || d.polls != 3 {
		t.Errorf("found nothing in %d polls although short sleeps went before", d.polls)
	}
	l.events = nil
	d.findAt = 0 // nothing comes any more
	spins := 0
	for l.spinScore >= spinFrom {
		spins++
		if l.spin() {
			t.Fatal("found something")
		}
	}
	if spins > 3 {
		t.Errorf("%d spins in vain before an idle loop sleeps", spins)
	}
	before := d.polls
	if l.spin() || d.polls != before {
		t.Error("an idle loop spins")
	}
	l.now = int64(time.Second)
	l.slept(0)
	if l.spinScore != 0 {
		t.Error("a long sleep counts as a reason to spin")
	}
	l.Apply(Settings{Spin: Spin{Longest: 20 * time.Microsecond}})
	if l.spin() || d.polls == before {
		t.Error("a fixed spin does not look for work")
	}
}

// spinDriver finds an event at one poll.
type spinDriver struct {
	*discardDriver
	polls, findAt int
}

func (d *spinDriver) ownThread() bool { return true }

func (d *spinDriver) poll(events []event) []event {
	d.polls++
	if d.polls == d.findAt {
		events = append(events, event{})
	}
	return events
}
