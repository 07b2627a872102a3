package channelstore

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"pgregory.net/rapid"
)

// elements returns what v holds and fails when its chunks are not as they
// must be: all full but the last, and that not empty.
func elements(t failer, v *vector[int]) []int {
	t.Helper()
	var all []int
	for i := range v.chunks() {
		chunk := v.chunk(i)
		if len(chunk) == 0 || len(chunk) > chunkSize || len(chunk) < chunkSize && i < v.chunks()-1 {
			t.Fatalf("chunk %d of %d has %d elements", i, v.chunks(), len(chunk))
		}
		all = append(all, chunk...)
	}
	if len(all) != v.len() {
		t.Fatalf("len() = %d, holds %d", v.len(), len(all))
	}
	return all
}

// A vectorHistory is every version of a vector, beside slices that were
// changed by the same rule.
type vectorHistory struct {
	now      vector[int]
	want     []int
	versions []vector[int]
	wants    [][]int
	next     int
}

func (h *vectorHistory) keep() {
	h.versions = append(h.versions, h.now)
	h.wants = append(h.wants, slices.Clone(h.want))
}

func (h *vectorHistory) push() {
	h.keep()
	h.now = h.now.push(h.next)
	h.want = append(h.want, h.next)
	h.next++
}

func (h *vectorHistory) remove(t failer, i int) {
	t.Helper()
	h.keep()
	next, last, moved := h.now.remove(i)
	end := len(h.want) - 1
	if last != h.want[end] || moved != (i < end) {
		t.Fatalf("remove(%d) of %d elements: last %d, moved %v; want %d, %v",
			i, end+1, last, moved, h.want[end], i < end)
	}
	h.now = next
	h.want[i] = h.want[end]
	h.want = h.want[:end]
}

// check compares the newest version.
func (h *vectorHistory) check(t failer) {
	t.Helper()
	if got := elements(t, &h.now); !slices.Equal(got, h.want) {
		t.Fatalf("version %d: %v, want %v", len(h.versions), got, h.want)
	}
}

// checkAll compares all versions with what they held when they were new.
func (h *vectorHistory) checkAll(t failer) {
	t.Helper()
	for i := range h.versions {
		if got := elements(t, &h.versions[i]); !slices.Equal(got, h.wants[i]) {
			t.Fatalf("version %d of %d changed to %v, was %v", i, len(h.versions), got, h.wants[i])
		}
	}
	h.check(t)
}

func TestVector_BehavesAsASliceAndKeepsOldVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h vectorHistory
		// Start near a chunk's end half of the time.
		for range rapid.SampledFrom([]int{0, 1, chunkSize - 1, chunkSize, 2*chunkSize + 1}).Draw(t, "start") {
			h.push()
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(t, "n") {
					h.push()
				}
			},
			"removeAny": func(t *rapid.T) {
				if len(h.want) == 0 {
					t.Skip("empty")
				}
				h.remove(t, rapid.IntRange(0, len(h.want)-1).Draw(t, "i"))
			},
			"removeLast": func(t *rapid.T) {
				for range min(rapid.IntRange(1, 8).Draw(t, "n"), len(h.want)) {
					h.remove(t, len(h.want)-1)
				}
			},
			"removeFirst": func(t *rapid.T) {
				for range min(rapid.IntRange(1, 8).Draw(t, "n"), len(h.want)) {
					h.remove(t, 0)
				}
			},
			"": func(t *rapid.T) { h.check(t) },
		})
		h.checkAll(t)
	})
}

// Random histories seldom cross the same chunk border several times.
func TestVector_KeepsOldVersionsAroundChunkBorders(t *testing.T) {
	for _, border := range []int{1, 2, 4, chunkSize, 2 * chunkSize, 5 * chunkSize} {
		for _, where := range []string{"first", "last", "before last"} {
			t.Run(fmt.Sprintf("%d/%s", border, where), func(t *testing.T) {
				var h vectorHistory
				for h.now.len() < border+1 {
					h.push()
				}
				for round := range 4 {
					for range 2 + round {
						end := h.now.len() - 1
						if end < 0 {
							break
						}
						h.remove(t, map[string]int{"first": 0, "last": end, "before last": max(end-1, 0)}[where])
						h.check(t)
					}
					for h.now.len() < border+1+round {
						h.push()
						h.check(t)
					}
				}
				h.checkAll(t)
				for h.now.len() > 0 {
					h.remove(t, h.now.len()/2)
				}
				h.checkAll(t)
			})
		}
	}
}

// What was removed must be collectable, so it must not stand in a slot of an
// array that the newest version refers to but does not show.
func TestVector_HoldsNothingButItsElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v vector[*owner]
		var held, removed []weak.Pointer[owner]
		push := func() {
			o := &owner{}
			v = v.push(o)
			held = append(held, weak.Make(o))
		}
		for range rapid.SampledFrom([]int{3, chunkSize, chunkSize + 1, 2*chunkSize + 2}).Draw(t, "start") {
			push()
		}
		for range rapid.IntRange(1, chunkSize+10).Draw(t, "removals") {
			if v.len() == 0 {
				break
			}
			i := v.len() - 1
			if rapid.Bool().Draw(t, "any") {
				i = rapid.IntRange(0, i).Draw(t, "i")
			}
			v, _, _ = v.remove(i)
			end := len(held) - 1
			removed = append(removed, held[i])
			held[i] = held[end]
			held = held[:end]
		}
		if rapid.Bool().Draw(t, "pushAfter") {
			push()
		}
		runtime.GC()
		for i, o := range removed {
			if o.Value() != nil {
				t.Fatalf("removal %d of %d: the element is still reachable", i+1, len(removed))
			}
		}
		for _, o := range held {
			if o.Value() == nil {
				t.Fatalf("an element of the vector was collected")
			}
		}
		if len(v.full) == 0 && cap(v.tail) > max(4*len(v.tail), 1) {
			t.Fatalf("%d elements in an array of %d", len(v.tail), cap(v.tail))
		}
		runtime.KeepAlive(v)
	})
}
