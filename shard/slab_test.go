package shard

import (
	"bytes"
	"fmt"
	"testing"
)

func TestSlab_PiecesAreAdjacentAndNeverOverwritten(t *testing.T) {
	var a slab
	var pieces [][]byte
	var want []string
	for i := range 3000 {
		text := fmt.Sprintf("piece %d %s", i, bytes.Repeat([]byte{'x'}, i%90))
		piece := a.commit(append(a.room(len(text)), text...))
		if i > 0 {
			sameSlab := &piece[:cap(piece)][cap(piece)-1] == &pieces[i-1][:cap(pieces[i-1])][cap(pieces[i-1])-1]
			if adjacent(pieces[i-1], piece) != sameSlab {
				t.Fatalf("piece %d: adjacent = %v, same slab = %v", i, !sameSlab, sameSlab)
			}
			if adjacent(piece, pieces[i-1]) {
				t.Fatalf("piece %d: adjacent to its predecessor backwards", i)
			}
		}
		pieces = append(pieces, piece)
		want = append(want, text)
	}
	for i, p := range pieces {
		if string(p) != want[i] {
			t.Fatalf("piece %d is %q, want %q", i, p, want[i])
		}
	}
}

func TestSlab_LargerThanASlab(t *testing.T) {
	var a slab
	big := bytes.Repeat([]byte{'b'}, 3*slabBytes)
	p := a.commit(append(a.room(len(big)), big...))
	q := a.commit(append(a.room(1), 'q'))
	if !bytes.Equal(p, big) || string(q) != "q" {
		t.Fatal("a large piece and its successor do not hold what was put in")
	}
}
