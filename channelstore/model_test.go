package channelstore

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"broker/internal/glob"
)

const modelShards = 3

// long names differ only behind what the index of patterns tells apart.
var (
	long    = strings.Repeat("l", maxLiteral)
	longest = strings.Repeat("l", 3*maxLiteral)
)

// A model is a store beside plain maps that are updated as its documentation
// says.
type model struct {
	st     *store
	subs   [kinds]map[string]map[*subscription]bool
	owners []*owner
	album  album
}

func newModel() *model {
	m := &model{st: New[*owner](modelShards)}
	for k := range m.subs {
		m.subs[k] = map[string]map[*subscription]bool{}
	}
	for i := range 5 {
		m.owners = append(m.owners, m.newOwner(i%modelShards))
	}
	return m
}

func (m *model) newOwner(shard int) *owner {
	return &owner{id: len(m.owners), shard: shard}
}

func (m *model) subscribe(t *rapid.T, kind Kind, o *owner, wanted []string) {
	// A caller's batch: distinct names it is not subscribed to.
	var batch []string
	for _, name := range wanted {
		held := slices.Contains(batch, name)
		for sub := range m.subs[kind][name] {
			held = held || sub.Owner == o
		}
		if !held {
			batch = append(batch, name)
		}
	}
	keys := names(batch...)
	kept := &subscription{}
	got := m.st.Subscribe(kind, o.shard, o, keys, []*subscription{kept})
	for _, key := range keys {
		clear(key) // the store must have copied it
	}
	if len(got) != len(batch)+1 || got[0] != kept {
		t.Fatalf("Subscribe of %d names appended %d", len(batch), len(got)-1)
	}
	for i, sub := range got[1:] {
		if sub.Owner != o || sub.Kind() != kind || sub.Name() != batch[i] {
			t.Fatalf("subscription %d to %q of kind %d: to %q of kind %d",
				i, batch[i], kind, sub.Name(), sub.Kind())
		}
		if m.subs[kind][batch[i]] == nil {
			m.subs[kind][batch[i]] = map[*subscription]bool{}
		}
		m.subs[kind][batch[i]][sub] = true
	}
}

func (m *model) unsubscribe(leaving []*subscription) {
	m.st.Unsubscribe(leaving)
	for _, sub := range leaving {
		of := m.subs[sub.Kind()]
		delete(of[sub.Name()], sub)
		if len(of[sub.Name()]) == 0 {
			delete(of, sub.Name())
		}
	}
}

// held returns all subscriptions in an order that does not depend on the maps.
func (m *model) held() []*subscription {
	var all []*subscription
	for k := range m.subs {
		for _, subs := range m.subs[k] {
			for sub := range subs {
				all = append(all, sub)
			}
		}
	}
	slices.SortFunc(all, func(a, b *subscription) int {
		if c := int(a.Kind()) - int(b.Kind()); c != 0 {
			return c
		}
		if c := strings.Compare(a.Name(), b.Name()); c != 0 {
			return c
		}
		return a.Owner.id - b.Owner.id
	})
	return all
}

// check compares everything a reader can ask with the maps.
func (m *model) check(t failer, probes []string) {
	t.Helper()
	for k := Channels; k < kinds; k++ {
		total := 0
		for name, want := range m.subs[k] {
			total += len(want)
			l := m.st.Find(k, []byte(name))
			if l == nil {
				t.Fatalf("Find(%d, %q) = nil, want %d subscriptions", k, name, len(want))
			}
			m.album.add(l)
			if l.Name() != name || l.Len() != len(want) {
				t.Fatalf("Find(%d, %q) = %q with %d, want %d", k, name, l.Name(), l.Len(), len(want))
			}
			for _, sub := range members(t, l) {
				if !want[sub] {
					t.Fatalf("Find(%d, %q) shows owner %d, who is not subscribed", k, name, sub.Owner.id)
				}
			}
		}
		if got := m.st.Count(k); got != len(m.subs[k]) {
			t.Fatalf("Count(%d) = %d, want %d", k, got, len(m.subs[k]))
		}
		if got := m.st.Subscriptions(k); got != total {
			t.Fatalf("Subscriptions(%d) = %d, want %d", k, got, total)
		}
		each := map[string]int{}
		m.st.Each(k, func(name string, n int) bool {
			if _, twice := each[name]; twice {
				t.Fatalf("Each(%d) shows %q twice", k, name)
			}
			each[name] = n
			return true
		})
		if len(each) != len(m.subs[k]) {
			t.Fatalf("Each(%d) shows %d names, want %d", k, len(each), len(m.subs[k]))
		}
		for name, n := range each {
			if n != len(m.subs[k][name]) {
				t.Fatalf("Each(%d) shows %q with %d, want %d", k, name, n, len(m.subs[k][name]))
			}
		}
	}
	for _, probe := range probes {
		for k := Channels; k < kinds; k++ {
			if l := m.st.Find(k, []byte(probe)); (l != nil) != (m.subs[k][probe] != nil) {
				t.Fatalf("Find(%d, %q) is nil: %v", k, probe, l == nil)
			}
		}
		var want, got []string
		for pattern := range m.subs[Patterns] {
			if glob.Match(pattern, probe) {
				want = append(want, pattern)
			}
		}
		kept := &list{}
		lists := m.st.Match([]byte(probe), []*list{kept})
		if lists[0] != kept {
			t.Fatalf("Match(%q) overwrote what was in dst", probe)
		}
		for _, l := range lists[1:] {
			got = append(got, l.Name())
			if l != m.st.Find(Patterns, []byte(l.Name())) {
				t.Fatalf("Match(%q) shows another list of %q than Find", probe, l.Name())
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("Match(%q) = %q, want %q", probe, got, want)
		}
	}
	checkIndex(t, m.st)
}

// checkIndex checks what must hold inside a store between two updates.
func checkIndex(t failer, st *store) {
	t.Helper()
	for k := range st.index {
		if got, want := st.index[k].Size(), st.Count(Kind(k)); got != want {
			t.Fatalf("the index of kind %d has %d entries, Count is %d", k, got, want)
		}
	}
	for i, e := range st.touched[:cap(st.touched)] {
		if e != nil {
			t.Fatalf("touched keeps an entry at %d", i)
		}
	}
	if st.waiting.Load() != nil {
		t.Fatalf("a request still waits")
	}
	inBuckets := 0
	shapes := map[shape]int{}
	st.patterns.buckets.Range(func(key literals, b *bucket[*owner]) bool {
		n := b.patterns.Load().len()
		if n == 0 {
			t.Fatalf("an empty bucket for %q", key)
		}
		inBuckets += n
		shapes[key.shape()] += n
		return true
	})
	if inBuckets+int(st.plain.Load()) != st.Count(Patterns) {
		t.Fatalf("%d patterns lie in buckets and %d are plain, Count is %d", inBuckets, st.plain.Load(), st.Count(Patterns))
	}
	installed := st.patterns.shapes.Load()
	if (installed == nil) != (len(shapes) == 0) {
		t.Fatalf("shapes are nil: %v, with %d patterns", installed == nil, inBuckets)
	}
	if installed != nil && !slices.IsSortedFunc(*installed, shape.compare) {
		t.Fatalf("the shapes are not in order: %v", *installed)
	}
	if installed != nil && len(*installed) != len(shapes) {
		t.Fatalf("%d shapes are installed, %d exist", len(*installed), len(shapes))
	}
	if len(st.patterns.patternsOf) != len(shapes) {
		t.Fatalf("patterns of %d shapes are counted, %d exist", len(st.patterns.patternsOf), len(shapes))
	}
}

// genChannel draws from few names, so that they are shared and taken again.
func genChannel() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 4, -1),
		rapid.SampledFrom([]string{
			"", "a", "*", "a\x00b", "\xff\xfe", "[a]", `a\b`,
			long, long + "x", long + "xy", "x" + long, "xy" + long, long + "ab" + long, longest,
		}),
	)
}

func genPattern() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune(`aab*?[]^-\`)), 0, 6, -1),
		rapid.SampledFrom([]string{
			"", "*", "**", "?", "a*", "*a", "a*b", "a*a", "ab*ab", "*b*", "[ab]*", "*[^a]", `a\*b`, `\a*`, `a\`, "[a",
			long, long + "*", long + "x*", long + "xy*", "*" + long, "*x" + long, "*xy" + long,
			long + "*" + long, long + "ab" + long, longest + "*", "*" + longest,
		}),
	)
}

func TestStore_BehavesAsPlainMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		gens := [kinds]*rapid.Generator[string]{
			Channels: genChannel(), ShardChannels: genChannel(), Patterns: genPattern(),
		}
		genKind := rapid.SampledFrom([]Kind{Channels, ShardChannels, Patterns, Patterns})
		t.Repeat(map[string]func(*rapid.T){
			"subscribe": func(t *rapid.T) {
				kind := genKind.Draw(t, "kind")
				o := rapid.SampledFrom(m.owners).Draw(t, "owner")
				m.subscribe(t, kind, o, rapid.SliceOfN(gens[kind], 1, 6).Draw(t, "names"))
			},
			"crowd": func(t *rapid.T) {
				kind := genKind.Draw(t, "kind")
				name := gens[kind].Draw(t, "name")
				shards := rapid.IntRange(1, modelShards).Draw(t, "shards")
				for i := range rapid.IntRange(1, 2*chunkSize).Draw(t, "n") {
					o := m.newOwner(i % shards)
					m.owners = append(m.owners, o)
					m.subscribe(t, kind, o, []string{name})
				}
			},
			"unsubscribe": func(t *rapid.T) {
				held := m.held()
				if len(held) == 0 {
					t.Skip("no subscription")
				}
				m.unsubscribe(rapid.SliceOfNDistinct(rapid.SampledFrom(held), 0, 20, rapid.ID[*subscription]).Draw(t, "leaving"))
			},
			"tear down": func(t *rapid.T) {
				o := rapid.SampledFrom(m.owners).Draw(t, "owner")
				m.unsubscribe(slices.DeleteFunc(m.held(), func(sub *subscription) bool { return sub.Owner != o }))
			},
			"empty a name": func(t *rapid.T) {
				held := m.held()
				if len(held) == 0 {
					t.Skip("no subscription")
				}
				of := rapid.SampledFrom(held).Draw(t, "name of")
				m.unsubscribe(slices.DeleteFunc(held, func(sub *subscription) bool { return sub.entry != of.entry }))
			},
			"": func(t *rapid.T) {
				m.check(t, rapid.SliceOfN(genChannel(), 4, 4).Draw(t, "probes"))
			},
		})
		m.unsubscribe(m.held())
		m.check(t, []string{"", "a", "ab", long})
		m.album.check(t)
	})
}

// sequences returns every concatenation of up to n elements.
func sequences(n int, elements ...string) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		for end := len(all); from < end; from++ {
			for _, e := range elements {
				all = append(all, all[from]+e)
			}
		}
	}
	return all
}

func TestMatch_FindsWhatGlobMatches(t *testing.T) {
	patterns := sequences(4, "a", "b", "*", "?", "[ab]", `\*`)
	channels := sequences(4, "a", "b", "*")
	st := New[*owner](1)
	st.Subscribe(Patterns, 0, &owner{}, names(patterns...), nil)
	for _, channel := range channels {
		matched := map[string]bool{}
		for _, l := range st.Match([]byte(channel), nil) {
			if matched[l.Name()] {
				t.Errorf("%q matches %q twice", l.Name(), channel)
			}
			matched[l.Name()] = true
		}
		for _, p := range patterns {
			if matched[p] != glob.Match(p, channel) {
				t.Errorf("%q matches %q: %v, want %v", p, channel, matched[p], !matched[p])
			}
		}
	}
}

func TestEach_StopsWhenToldTo(t *testing.T) {
	st := New[*owner](1)
	st.Subscribe(Channels, 0, &owner{}, numbered("c", 0, 10), nil)
	calls := 0
	st.Each(Channels, func(string, int) bool {
		calls++
		return calls < 3
	})
	if calls != 3 {
		t.Fatalf("Each called yield %d times after it was told to stop at 3", calls)
	}
}

func TestNew_RefusesNoShards(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("New(0) returned")
		}
	}()
	New[*owner](0)
}
