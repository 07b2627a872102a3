package channelstore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/puzpuzpuz/xsync/v3"

	"broker/internal/glob"
	"broker/rcu"
)

// maxLiteral is how many bytes of a pattern's literal prefix and suffix the
// index tells apart. It bounds what one probe hashes; names that differ only
// beyond it share a bucket and are told apart by matching.
const maxLiteral = 64

// A patternIndex finds the patterns that can match a channel.
//
// Plain patterns, which match only the channel that is called like them, are not
// in it: Match looks them up by their own name. The others lie in buckets by
// the literal text they begin and end with. The lengths of those two texts are
// the pattern's shape. A look-up makes one hash probe for each shape that
// exists and fits into the channel's name: it takes that many bytes from the
// name's front and back and asks for the bucket. Patterns with other texts are
// never looked at.
//
// Real sets of patterns have a handful of shapes (news.*, user:12345:*,
// *.log). The worst case is an adversary who makes one pattern of every shape:
// a name of n bytes then costs (n+1)(n+2)/2 probes, at most 65*65. That is
// bounded, and never more probes than patterns, but a probe costs two to five
// times what matching one of those patterns does: 1.3 ms beside 0.65 ms when
// name and patterns agree in their literals, 0.15 ms beside 0.04 ms when they do
// not (BenchmarkMatch/none/every-shape, BenchmarkMatchOneByOne). Patterns without
// literal text at either end share one bucket and cost a match each, as in Redis.
//
// Readers take no lock. All writes are made by the holder of the control mutex.
type patternIndex[T any] struct {
	buckets *xsync.MapOf[literals, *bucket[T]]
	shapes  rcu.Cell[[]shape] // ascending; nil when there is no pattern

	// Guarded by the control mutex: patterns by shape.
	patternsOf map[shape]int
}

// literals are the texts that a bucket's patterns begin and end with.
type literals struct{ prefix, suffix string }

// A shape is the lengths of a pattern's literals, at most maxLiteral. It is small
// because all of them are copied when one comes or goes.
type shape struct{ prefix, suffix uint8 }

func (k literals) shape() shape { return shape{uint8(len(k.prefix)), uint8(len(k.suffix))} }

// size is how long a name has to be to have the literals.
func (s shape) size() int { return int(s.prefix) + int(s.suffix) }

// compare orders shapes by what they need of a name, so that a look-up can stop
// at the first that does not fit.
func (s shape) compare(t shape) int {
	return cmp.Or(cmp.Compare(s.size(), t.size()), cmp.Compare(s.prefix, t.prefix))
}

// A bucket holds the patterns with the same literals.
type bucket[T any] struct {
	patterns rcu.Cell[vector[*pattern[T]]]
}

// A pattern is what the index knows of an entry.
type pattern[T any] struct {
	// Immutable.
	entry *entry[T]
	key   literals
	test  test
	exact string // the only name it matches, for testExact

	// Guarded by the control mutex: its position in the bucket.
	position int
}

// test is how a pattern is told to match a name that has its literals.
type test uint8

const (
	testMatch test = iota // glob.Match decides
	testNone              // any name with the literals matches, but the empty one
	testExact             // one name matches; in the pattern it is escaped
)

// newPattern returns what the index has to know of e, nil for a plain pattern.
func newPattern[T any](e *entry[T]) *pattern[T] {
	prefix, suffix, shape := glob.Literals(e.name)
	if shape == glob.Exact && prefix == e.name {
		return nil
	}
	p := &pattern[T]{
		entry: e,
		key:   literals{prefix[:min(len(prefix), maxLiteral)], suffix[max(0, len(suffix)-maxLiteral):]},
	}
	whole := p.key == literals{prefix, suffix}
	switch {
	case shape == glob.Exact:
		p.test, p.exact = testExact, prefix
	case shape == glob.Affix && whole:
		p.test = testNone
	}
	return p
}

func (p *pattern[T]) matches(channel string) bool {
	switch p.test {
	case testNone:
		return channel != ""
	case testExact:
		return channel == p.exact
	}
	return glob.Match(p.entry.name, channel)
}

func newPatternIndex[T any]() patternIndex[T] {
	return patternIndex[T]{
		buckets:    xsync.NewMapOf[literals, *bucket[T]](),
		patternsOf: map[shape]int{},
	}
}

// match appends the lists of the patterns that match channel.
func (x *patternIndex[T]) match(channel string, dst []*List[T]) []*List[T] {
	shapes := x.shapes.Load()
	if shapes == nil {
		return dst
	}
	for _, s := range *shapes {
		if s.size() > len(channel) {
			break
		}
		b, ok := x.buckets.Load(literals{channel[:s.prefix], channel[len(channel)-int(s.suffix):]})
		if !ok {
			continue
		}
		v := b.patterns.Load()
		for i := range v.chunks() {
			for _, p := range v.chunk(i) {
				if p.matches(channel) {
					if l := p.entry.list.Load(); l != nil {
						dst = append(dst, l)
					}
				}
			}
		}
	}
	return dst
}

// add puts p into its bucket. The caller holds the control mutex.
func (x *patternIndex[T]) add(p *pattern[T]) {
	b, ok := x.buckets.Load(p.key)
	next := vector[*pattern[T]]{}
	if ok {
		next = *b.patterns.Load()
	} else {
		b = &bucket[T]{}
	}
	p.position = next.len()
	next = next.push(p)
	b.patterns.Install(&next)
	if !ok {
		// The key's texts are parts of this pattern, which may be long and gone
		// before the bucket is.
		x.buckets.Store(literals{strings.Clone(p.key.prefix), strings.Clone(p.key.suffix)}, b)
	}
	s := p.key.shape()
	if x.patternsOf[s]++; x.patternsOf[s] == 1 {
		x.installShape(s, true)
	}
}

// remove takes p out of its bucket. The caller holds the control mutex.
func (x *patternIndex[T]) remove(p *pattern[T]) {
	b, _ := x.buckets.Load(p.key)
	next, last, moved := b.patterns.Load().remove(p.position)
	if moved {
		last.position = p.position
	}
	b.patterns.Install(&next)
	if next.len() == 0 {
		x.buckets.Delete(p.key)
	}
	s := p.key.shape()
	if x.patternsOf[s]--; x.patternsOf[s] == 0 {
		delete(x.patternsOf, s)
		x.installShape(s, false)
	}
}

// installShape makes s one of the shapes that exist, or no longer. It copies
// them; there are at most 65*65, whatever the number of patterns.
func (x *patternIndex[T]) installShape(s shape, exists bool) {
	var before []shape
	if shapes := x.shapes.Load(); shapes != nil {
		before = *shapes
	}
	at, _ := slices.BinarySearchFunc(before, s, shape.compare)
	next := append(make([]shape, 0, len(before)+1), before[:at]...)
	if exists {
		next = append(append(next, s), before[at:]...)
	} else {
		next = append(next, before[at+1:]...)
	}
	if len(next) == 0 {
		x.shapes.Install(nil)
		return
	}
	x.shapes.Install(&next)
}
