package channelstore

import (
	"strings"
	"testing"
)

// mustPanic calls f and returns what it panics with.
func mustPanic(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		text, _ = recover().(string)
		if !strings.HasPrefix(text, "channelstore: ") {
			t.Errorf("panic is %q", text)
		}
	}()
	f()
	return ""
}

// Removing a subscription again is the caller's mistake. It must not hurt a
// name that was taken again meanwhile, nor those who ask for something else.
func TestUnsubscribe_TwiceHurtsNobodyElse(t *testing.T) {
	st := New[*owner](1)
	o := &owner{}
	gone := st.Subscribe(Channels, 0, o, names("a"), nil)
	st.Unsubscribe(gone)
	again := st.Subscribe(Channels, 0, o, names("a", "b"), nil)

	mustPanic(t, func() { st.Unsubscribe([]*subscription{again[1], gone[0]}) })
	if st.Find(Channels, []byte("b")) != nil {
		t.Error("the other subscription of the update is still there")
	}
	mustPanic(t, func() { st.Unsubscribe([]*subscription{again[1]}) })
	st.Subscribe(Channels, 0, o, names("c"), nil) // the mutex is free
	if !shows(st.Find(Channels, []byte("a")), again[0]) {
		t.Error("the channel that was taken again is lost")
	}
	checkIndex(t, st)
}

func TestUnsubscribe_TwiceWhileItWaitsPanicsItsCaller(t *testing.T) {
	st := New[*owner](1)
	o := &owner{}
	gone := st.Subscribe(Channels, 0, o, names("a"), nil)
	st.Unsubscribe(gone)

	r := newRound(t, st)
	var subs []*subscription
	r.start(func() { mustPanic(t, func() { st.Unsubscribe(gone) }) })
	r.join(&owner{}, Channels, &subs, "a")
	r.end()
	if len(subs) != 1 || !shows(st.Find(Channels, []byte("a")), subs[0]) {
		t.Error("the update that waited beside the mistake was not made")
	}
	checkIndex(t, st)
}

func TestSubscribe_RefusesUnknownShardsAndKinds(t *testing.T) {
	st := New[*owner](2)
	for _, shard := range []int{-1, 2} {
		mustPanic(t, func() { st.Subscribe(Channels, shard, &owner{}, names("a"), nil) })
	}
	mustPanic(t, func() { st.Subscribe(kinds, 0, &owner{}, names("a"), nil) })
	if st.Count(Channels) != 0 || st.Find(Channels, []byte("a")) != nil {
		t.Error("a refused subscription is there")
	}
	checkIndex(t, st)
}
