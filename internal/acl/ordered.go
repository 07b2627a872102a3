package acl

import (
	"cmp"
	"slices"
)

// An ordered map keeps its keys in the order in which they came. Adding,
// finding and removing one takes the same time however many there are. The
// zero value is empty.
type ordered[K comparable, V any] struct {
	entries map[K]orderedEntry[V]
	next    int
}

type orderedEntry[V any] struct {
	place int
	value V
}

// set gives a key its value. A key that is there already keeps its place.
func (o *ordered[K, V]) set(key K, value V) {
	if o.entries == nil {
		o.entries = map[K]orderedEntry[V]{}
	}
	e, there := o.entries[key]
	if !there {
		e.place = o.next
		o.next++
	}
	e.value = value
	o.entries[key] = e
}

func (o *ordered[K, V]) get(key K) V { return o.entries[key].value }

func (o *ordered[K, V]) has(key K) bool {
	_, there := o.entries[key]
	return there
}

func (o *ordered[K, V]) remove(key K) { delete(o.entries, key) }

func (o *ordered[K, V]) clear() { *o = ordered[K, V]{} }

// keys returns the keys in their order; nil: there are none.
func (o *ordered[K, V]) keys() []K {
	if len(o.entries) == 0 {
		return nil
	}
	keys := make([]K, 0, len(o.entries))
	for key := range o.entries {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b K) int {
		return cmp.Compare(o.entries[a].place, o.entries[b].place)
	})
	return keys
}
