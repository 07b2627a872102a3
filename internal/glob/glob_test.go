package glob

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// TestMatch_AgreesWithRealServers plays patterns and names whose answers were
// observed on redis 7.0.15, redis 8.0.6 and valkey 9.1.2 (x86-64).
func TestMatch_AgreesWithRealServers(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		ChannelsHex []string `json:"channels_hex"`
		Patterns    []struct {
			PatternHex string   `json:"pattern_hex"`
			MatchHex   []string `json:"match_hex"`
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	unhex := func(s string) string {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	checked := 0
	for _, p := range v.Patterns {
		pattern := unhex(p.PatternHex)
		want := map[string]bool{}
		for _, m := range p.MatchHex {
			want[m] = true
		}
		for _, c := range v.ChannelsHex {
			name := unhex(c)
			checked++
			if got := Match(pattern, name); got != want[c] {
				t.Errorf("Match(%q, %q) = %v, want %v", pattern, name, got, want[c])
			}
			checkLiterals(t, pattern, name)
		}
	}
	if checked < 364*110 {
		t.Errorf("only %d pairs were checked", checked)
	}
}

// checkLiterals checks the contract of Literals for one pair.
func checkLiterals(t *testing.T, pattern, name string) {
	t.Helper()
	prefix, suffix, shape := Literals(pattern)
	has := len(name) >= len(prefix)+len(suffix) && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
	got := Match(pattern, name)
	if got && !has {
		t.Errorf("%q matches %q without its literals %q, %q", pattern, name, prefix, suffix)
	}
	switch shape {
	case Exact:
		if got != (name == prefix) {
			t.Errorf("%q is called exact for %q, but Match(%q) = %v", pattern, prefix, name, got)
		}
	case Affix:
		if got != (has && name != "") {
			t.Errorf("%q is called %q*%q, but Match(%q) = %v", pattern, prefix, suffix, name, got)
		}
	}
}

func TestMatch_StarGroups(t *testing.T) {
	for _, tc := range []struct {
		groups int
		want   bool
	}{{1, true}, {999, true}, {1000, true}, {1001, false}, {5000, false}} {
		pattern, name := strings.Repeat("*a", tc.groups), strings.Repeat("a", tc.groups)
		if got := Match(pattern, name); got != tc.want {
			t.Errorf("%d star groups: %v, want %v", tc.groups, got, tc.want)
		}
	}
	if !Match(strings.Repeat("*", 5000)+"a", "xa") {
		t.Error("a run of stars counts as more than one group")
	}
}

func TestMatchFold(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"MaxClients", "maxclients", true},
		{"*BUFFER*", "client-output-buffer-limit", true},
		{"[A-C]x", "bX", true},
		{"[a-c]x", "BX", true},
		{"?IND", "bind", true},
		{"bin\\D", "BIND", true},
		{"bind", "bint", false},
	} {
		if got := MatchFold(tc.pattern, tc.name); got != tc.want {
			t.Errorf("MatchFold(%q, %q) = %v, want %v", tc.pattern, tc.name, got, tc.want)
		}
	}
}

func TestLiterals(t *testing.T) {
	for _, tc := range []struct {
		pattern, prefix, suffix string
		shape                   Shape
	}{
		{"", "", "", Exact},
		{"news", "news", "", Exact},
		{"news.*", "news.", "", Affix},
		{"*.log", "", ".log", Affix},
		{"a*b", "a", "b", Affix},
		{"a***b", "a", "b", Affix},
		{"*", "", "", Affix},
		{"a*b*c", "a", "c", Complex},
		{"a?b", "a", "b", Complex},
		{"a[xy]b", "a", "b", Complex},
		{"a[xy", "a", "", Complex},
		{"a*[b]", "a", "", Complex},
		{"a\\*b", "a*b", "", Exact},
		{"a\\*b*c\\?d", "a*b", "c?d", Affix},
		{"a\\", "a\\", "", Exact},
		{"*\\", "", "\\", Affix},
		{"a*?b", "a", "b", Complex},
		{"a?*b", "a", "b", Complex},
		{"*a*", "", "", Complex},
		{"[", "", "", Complex},
	} {
		prefix, suffix, shape := Literals(tc.pattern)
		if prefix != tc.prefix || suffix != tc.suffix || shape != tc.shape {
			t.Errorf("Literals(%q) = %q, %q, %d; want %q, %q, %d",
				tc.pattern, prefix, suffix, shape, tc.prefix, tc.suffix, tc.shape)
		}
	}
}

// An element is one step of a parsed pattern: a star, or a set of bytes.
type element struct {
	star bool
	set  [256]bool
}

// parse reads a pattern by the grammar's words, into sets, and shares nothing
// with the matcher.
func parse(p string) []element {
	var elements []element
	for p != "" {
		var e element
		c := p[0]
		p = p[1:]
		switch {
		case c == '*':
			e.star = true
		case c == '?':
			for b := range e.set {
				e.set[b] = true
			}
		case c == '[':
			negated := strings.HasPrefix(p, "^")
			if negated {
				p = p[1:]
			}
			for p != "" && p[0] != ']' {
				if len(p) > 1 && p[0] == '\\' {
					e.set[p[1]] = true
					p = p[2:]
				} else if len(p) > 2 && p[1] == '-' {
					lo, hi := int(int8(p[0])), int(int8(p[2]))
					for b := min(lo, hi); b <= max(lo, hi); b++ {
						e.set[byte(b)] = true
					}
					p = p[3:]
				} else {
					e.set[p[0]] = true
					p = p[1:]
				}
			}
			if p != "" {
				p = p[1:]
			}
			for b := range e.set {
				e.set[b] = e.set[b] != negated
			}
		case c == '\\' && p != "":
			e.set[p[0]] = true
			p = p[1:]
		default:
			e.set[c] = true
		}
		elements = append(elements, e)
	}
	return elements
}

// reference is the recursive definition that Redis's matcher began as. It is
// exponential, so inputs are kept short.
func reference(p []element, s string) bool {
	switch {
	case len(p) == 0:
		return s == ""
	case p[0].star:
		return reference(p[1:], s) || s != "" && reference(p, s[1:])
	}
	return s != "" && p[0].set[s[0]] && reference(p[1:], s[1:])
}

func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"a*b*c", "aXbYc"}, {"[^a-]", "b"}, {"[z-a]x*", "mx"}, {"\\", "\\"}, {"*[", "x"},
		{"[\\]]*", "]"}, {"", ""}, {"*", ""}, {"[a-\xff]", "\xfe"}, {"**a?*", "ba1"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 14 || len(name) > 14 {
			// Long inputs must not panic or take long; their answers are not compared.
			Match(pattern, name)
			checkLiterals(t, pattern, name)
			return
		}
		want := reference(parse(pattern), name)
		if name == "" {
			want = pattern == ""
		}
		if got := Match(pattern, name); got != want {
			t.Errorf("Match(%q, %q) = %v, want %v", pattern, name, got, want)
		}
		checkLiterals(t, pattern, name)
		pattern, name = ascii(pattern), ascii(name)
		if strings.Contains(pattern, "[") {
			return // classes fold by rules of their own
		}
		want = name == "" && pattern == "" ||
			name != "" && reference(parse(strings.ToLower(pattern)), strings.ToLower(name))
		if got := MatchFold(pattern, name); got != want {
			t.Errorf("MatchFold(%q, %q) = %v, want %v", pattern, name, got, want)
		}
	})
}

// ascii clears the top bit of every byte, so that strings.ToLower folds what
// MatchFold folds.
func ascii(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] &= 0x7f
	}
	return string(b)
}

func TestMatch_DoesNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Match("news.*.[a-c]?", "news.sport.b1") }); n != 0 {
		t.Errorf("Match allocates %v times", n)
	}
}

// What a piece costs is bounded whichever way it is looked for, so both ways
// are compared with the reference.
func TestPiece_FoundWithBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	elements := []string{"a", "b", "?", "[ab]", "[^a]", "[a-c]", "[c-a]", `\a`, "[", "[]", `[\]]`, "[a-", `[^`, "[\x80-\xff]"}
	for range 20_000 {
		var text strings.Builder
		for range 1 + r.IntN(5) {
			text.WriteString(elements[r.IntN(len(elements))])
		}
		for range r.IntN(3) * 40 { // more than one word of bits
			text.WriteString("[ab]")
		}
		p := nextPiece(text.String())
		if p.text != text.String() {
			continue
		}
		var name strings.Builder
		for range r.IntN(200) {
			name.WriteByte("aaaabbbc]-^\\\x80\xff"[r.IntN(14)])
		}
		spent := maxTries
		plain, bits := p.index(name.String(), new(int)), p.index(name.String(), &spent)
		want := -1
		for at := 0; at+p.length <= name.Len(); at++ {
			if p.matchAt(name.String()[at:]) {
				want = at
				break
			}
		}
		if plain != want || bits != want || p.indexParallel(name.String()) != want {
			t.Fatalf("%q in %q: at %d, %d with bits, %d with bits alone, want %d", p.text, name.String(), plain, bits, p.indexParallel(name.String()), want)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, bm := range []struct{ name, pattern, subject string }{
		{"prefix", "news.sport.*", "news.sport.football.1"},
		{"miss", "pat0000001.*", "ch0000001"},
		{"class", "news.[a-z]*.?", "news.sport.1"},
		{"worst=4KiBx64KiB", strings.Repeat("*a", 2000) + "b", strings.Repeat("a", 64<<10)},
		{"worst=classes", "*" + strings.Repeat("[ab]", 1000) + "c*", strings.Repeat("a", 64<<10)},
		{"worst=classesOnly", "*" + strings.Repeat("[ab]", 1000) + "[cd]*", strings.Repeat("a", 64<<10)},
		{"worst=oneClass", "*[" + strings.Repeat("a", 4000) + "]*", strings.Repeat("b", 64<<10)},
		{"worst=manyClasses", strings.Repeat("*[ab][cd]", 450) + "*", strings.Repeat("a", 64<<10)},
		{"worst=questions", "*" + strings.Repeat("?[a]", 1000) + "b*", strings.Repeat("a", 64<<10)},
		{"inner", "*sport*", "news.football.sport.1"},
		{"innerMiss", "*spork*", "news.football.sport.1"},
		{"worst=fewStars", "*" + strings.Repeat("a", 4000) + "b", strings.Repeat("a", 64<<10)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Match(bm.pattern, bm.subject)
			}
		})
	}
}
