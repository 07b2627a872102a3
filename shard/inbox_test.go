package shard

import (
	"sync"
	"testing"
)

func TestInbox_KeepsEachProducersOrder(t *testing.T) {
	const producers, each = 4, 2000
	var q inbox
	var wg sync.WaitGroup
	type item struct{ producer, seq int }
	var got []item
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				q.push(&post{run: func(*Loop) { got = append(got, item{p, i}) }})
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	drain := func() {
		for p := q.take(); p != nil; p = p.next {
			p.run(nil)
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		drain()
	}
	drain()
	next := make([]int, producers)
	for _, it := range got {
		if it.seq != next[it.producer] {
			t.Fatalf("producer %d: took %d, want %d", it.producer, it.seq, next[it.producer])
		}
		next[it.producer]++
	}
	for p, n := range next {
		if n != each {
			t.Fatalf("producer %d: took %d posts, want %d", p, n, each)
		}
	}
	if !q.empty() {
		t.Fatal("the inbox is not empty")
	}
}
