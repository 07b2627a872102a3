package acl

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A clock is a time that a test sets.
type clock struct{ now time.Time }

func (c *clock) after(d time.Duration) { c.now = c.now.Add(d) }

func newTestLog(max int) (*Log, *clock) {
	c := &clock{time.UnixMilli(1_000_000)}
	return newLog(max, func() time.Time { return c.now }), c
}

func event(object string) Event {
	return Event{Reason: DeniedChannel, Context: TopLevel, Object: object, User: "u", Client: "id=1"}
}

func summary(l *Log, n int) string {
	var b strings.Builder
	entries, _ := l.Latest(n)
	for _, e := range entries {
		fmt.Fprintf(&b, "%d:%s*%d ", e.ID, e.Object, e.Count)
	}
	return strings.TrimSpace(b.String())
}

func TestLog_GroupsEqualEvents(t *testing.T) {
	l, c := newTestLog(100)
	start := c.now
	l.Add(event("a"))
	c.after(time.Second)
	l.Add(event("b"))
	c.after(59 * time.Second)
	e := event("a")
	e.Client = "id=2"
	l.Add(e)
	if got, want := summary(l, 10), "0:a*2 1:b*1"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	entries, now := l.Latest(1)
	if a := entries[0]; a.Client != "id=2" || !a.Created.Equal(start) || !a.Updated.Equal(c.now) || !now.Equal(c.now) {
		t.Errorf("%+v at %v", a, now)
	}
	c.after(groupWithin + time.Millisecond)
	l.Add(event("a"))
	if got, want := summary(l, 10), "2:a*1 0:a*2 1:b*1"; got != want {
		t.Errorf("after a minute: %q, want %q", got, want)
	}
}

func TestLog_KeepsDifferentEventsApart(t *testing.T) {
	l, _ := newTestLog(100)
	l.Add(event("a"))
	for _, change := range []func(*Event){
		func(e *Event) { e.Object = "b" },
		func(e *Event) { e.User = "v" },
		func(e *Event) { e.Reason = DeniedCommand },
		func(e *Event) { e.Context = InMulti },
	} {
		e := event("a")
		change(&e)
		l.Add(e)
	}
	if entries, _ := l.Latest(100); len(entries) != 5 {
		t.Errorf("%d entries: %s", len(entries), summary(l, 100))
	}
}

// An equal entry is looked for among the ten latest only.
func TestLog_LooksAtTheLatest(t *testing.T) {
	l, _ := newTestLog(100)
	for i := range groupAmong {
		l.Add(event(fmt.Sprint(i)))
	}
	l.Add(event("0"))
	if got := summary(l, 2); got != "0:0*2 9:9*1" {
		t.Errorf("the tenth latest is not found: %q", got)
	}
	l.Add(event("new"))
	l.Add(event("1"))
	if got := summary(l, 2); got != "11:1*1 10:new*1" {
		t.Errorf("the eleventh latest is found: %q", got)
	}
}

func TestLog_IsBounded(t *testing.T) {
	l, _ := newTestLog(3)
	for i := range 1000 {
		l.Add(event(fmt.Sprint(i)))
		if c := cap(l.entries); c > 16 {
			t.Fatalf("room for %d entries after %d events", c, i)
		}
	}
	if got, want := summary(l, 100), "999:999*1 998:998*1 997:997*1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := summary(l, -1); got != "" {
		t.Errorf("-1 entries: %q", got)
	}
	l.Resize(1)
	if got, want := summary(l, 100), "999:999*1"; got != want {
		t.Errorf("resized: %q, want %q", got, want)
	}
	l.Resize(2)
	l.Add(event("x"))
	if got, want := summary(l, 100), "1000:x*1 999:999*1"; got != want {
		t.Errorf("resized again: %q, want %q", got, want)
	}
	l.Reset()
	if got := summary(l, 100); got != "" {
		t.Errorf("reset: %q", got)
	}
	l.Add(event("y"))
	if got, want := summary(l, 100), "1001:y*1"; got != want {
		t.Errorf("after the reset: %q, want %q", got, want)
	}
	l.Resize(0)
	l.Add(event("z"))
	if got := summary(l, 100); got != "" {
		t.Errorf("without room: %q", got)
	}
}

func TestLog_CutsWhatClientsChoose(t *testing.T) {
	l, _ := newTestLog(3)
	e := event(strings.Repeat("x", 10*maxLogTextBytes))
	e.User = strings.Repeat("y", 10*maxLogTextBytes)
	l.Add(e)
	l.Add(e)
	entries, _ := l.Latest(3)
	if len(entries) != 1 || len(entries[0].Object) != maxLogTextBytes || len(entries[0].User) != maxLogTextBytes {
		t.Errorf("%d entries, object of %d bytes", len(entries), len(entries[0].Object))
	}
}

func TestLog_Words(t *testing.T) {
	got := fmt.Sprint(DeniedCommand, DeniedChannel, DeniedAuth, TopLevel, InMulti)
	if want := "command channel auth toplevel multi"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
