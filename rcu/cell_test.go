package rcu

import (
	"sync"
	"testing"
)

// snapshot is consistent when every field holds the same number.
type snapshot struct{ a, b, c int }

func TestCell_ZeroHoldsNil(t *testing.T) {
	var c Cell[int]
	if p := c.Load(); p != nil {
		t.Fatalf("Load of a zero cell = %v, want nil", p)
	}
}

func TestCell_LoadReturnsTheLastInstalled(t *testing.T) {
	var c Cell[int]
	for i := range 100 {
		v := i
		c.Install(&v)
		if p := c.Load(); p != &v || *p != i {
			t.Fatalf("after Install(%d): Load = %v", i, p)
		}
	}
}

// TestCell_ReadersSeeWholeSnapshotsInOrder runs readers beside a writer: each
// reader sees consistent snapshots that never go back. The race detector
// checks that Install publishes what was written before it.
func TestCell_ReadersSeeWholeSnapshotsInOrder(t *testing.T) {
	const installs, readers = 20_000, 3
	var c Cell[snapshot]
	c.Install(&snapshot{})
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for last := 0; last < installs; {
				s := c.Load()
				if s.a != s.b || s.b != s.c {
					t.Errorf("torn snapshot %+v", *s)
					return
				}
				if s.a < last {
					t.Errorf("snapshot %d after %d", s.a, last)
					return
				}
				last = s.a
			}
		})
	}
	for i := 1; i <= installs; i++ {
		c.Install(&snapshot{i, i, i})
	}
	wg.Wait()
}

func TestCell_LoadDoesNotAllocate(t *testing.T) {
	var c Cell[snapshot]
	c.Install(&snapshot{1, 1, 1})
	sum := 0
	if n := testing.AllocsPerRun(100, func() { sum += c.Load().a }); n != 0 {
		t.Fatalf("Load allocates %v times", n)
	}
}

func BenchmarkLoad(b *testing.B) {
	var c Cell[snapshot]
	c.Install(&snapshot{1, 1, 1})
	b.ReportAllocs()
	sum := 0
	for b.Loop() {
		sum += c.Load().a
	}
	_ = sum
}
