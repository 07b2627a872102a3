package acl

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Redis keeps the order of rules about commands since 7.2, so these are not
// among the golden cases.
func TestString_KeepsCommandRules(t *testing.T) {
	cases := []struct{ rules, want string }{
		{"+get -get", "-@all -get"},
		{"+GET +Set", "-@all +get +set"},
		{"+get +set +get", "-@all +set +get"},
		{"+config|get +config", "-@all +config"},
		{"+config|get -config", "-@all -config"},
		{"+config +config|get", "-@all +config +config|get"},
		{"+config|get +config|set -config|get", "-@all +config|set -config|get"},
		{"+@all -get +get", "+@all +get"},
		{"+@all -@all +get", "-@all +get"},
		{"+get +@all", "+@all"},
		{"+@fast -@connection", "-@all +@fast -@connection"},
		{"+@fast -@fast +@fast", "-@all +@fast"},
		{"+@read +get -@read", "-@all +get -@read"},
		{"+select|1 +select|0 +select|1", "-@all +select|0 +select|1"},
		{"+select|1 +select|X -select", "-@all -select"},
		{"+select|1 +@connection", "-@all +select|1 +@connection"},
		{"+set|nx -set +setex +set", "-@all +setex +set"},
	}
	for _, c := range cases {
		u := set(t, newTestStore(), "u", strings.Fields(c.rules)...)
		if got, want := u.Rules().String(), "off sanitize-payload resetchannels "+c.want; got != want {
			t.Errorf("%s:\n got %q\nwant %q", c.rules, got, want)
		}
	}
}

func TestString_OfTheDefaultUser(t *testing.T) {
	s := newTestStore()
	if got, want := s.Default().Rules().String(), "on nopass sanitize-payload ~* &* +@all"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	set(t, s, "default", "-@all", "+ping", ">x", "skip-sanitize-payload", "resetkeys", "%R~a", "(+get)")
	want := "on skip-sanitize-payload #2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 %R~a &* -@all +ping (resetchannels -@all +get)"
	if got := s.Default().Rules().String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Names that only Redis has a command for are good rules that allow nothing.
func TestRules_NameCommandsOfRedis(t *testing.T) {
	s := newTestStore()
	const text = "+get +set|nx -flushall +xgroup|create +hgetex +client -debug|sleep"
	for _, rule := range strings.Fields(text)[:6] {
		set(t, s, "u", rule)
	}
	for command := range cmdCount {
		if want := command == cmdAuth; may(s.Lookup("u"), command) != want {
			t.Errorf("%s allowed: %v", testCommands[command].Name, !want)
		}
	}
	want := "off sanitize-payload resetchannels -@all +get +set|nx -flushall +xgroup|create +hgetex +client"
	if got := s.Lookup("u").Rules().String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, rule := range []string{"-debug|sleep", "+xgroup|foo", "+get|", "+getx", "+client|foo", "+xgroup|create|x", "+sentinel"} {
		if _, err := s.SetUser("u", []string{rule}); err == nil {
			t.Errorf("%s is accepted", rule)
		}
	}
	set(t, s, "all", "+@all", "-get", "-flushall", "&*")
	if !s.Lookup("all").Unrestricted() {
		t.Error("a user who may do everything that there is here counts as restricted")
	}
}

func TestRules_Limits(t *testing.T) {
	s := newTestStore()
	long := strings.Repeat("x", maxPatternBytes)
	set(t, s, "u", "&"+long, "~"+long, "%R~"+long)
	before := s.Lookup("u").Rules()
	for _, rules := range [][]string{
		{"&x" + long}, {"~x" + long}, {"%RW~x" + long}, {"(&x" + long + ")"}, {"+select|x" + long},
	} {
		_, err := s.SetUser("u", rules)
		if err == nil || !strings.HasSuffix(err.Error(), errLongPattern.Error()) {
			t.Errorf("rule of %d bytes: %v", len(rules[0]), err)
		}
	}
	var args, selectors []string
	for i := range maxCommandRules {
		args = append(args, fmt.Sprint("+select|", i))
		selectors = append(selectors, "(+ping)")
	}
	set(t, s, "v", args...)
	set(t, s, "v", args...)
	if _, err := s.SetUser("v", []string{"+ping"}); err == nil || !strings.HasSuffix(err.Error(), errManyCommands.Error()) {
		t.Errorf("%d command rules: %v", maxCommandRules+1, err)
	}
	set(t, s, "w", selectors[1:]...)
	if _, err := s.SetUser("w", []string{"()"}); err == nil || !strings.HasSuffix(err.Error(), errManySelectors.Error()) {
		t.Errorf("%d selectors: %v", maxSelectors+1, err)
	}
	if s.Lookup("u").Rules() != before {
		t.Error("a refused rule has changed the user")
	}
}

func TestCheck_FirstArguments(t *testing.T) {
	u := set(t, newTestStore(), "u", "+select|0", "+select|One")
	for arg, want := range map[string]bool{"0": true, "one": true, "ONE": true, "1": false, "": false, "00": false, "0\x00": false} {
		if may(u, cmdSelect, arg) != want {
			t.Errorf("SELECT %q allowed: %v", arg, !want)
		}
	}
	if may(u, cmdSelect) {
		t.Error("SELECT without an argument is allowed")
	}
}

// A builder must not write to the rules it began with.
func TestSetUser_LeavesOldRulesAlone(t *testing.T) {
	s := newTestStore()
	u := set(t, s, "u", "+select|0", "+select|1", "&a", "~k", ">p", "(+config &b)")
	old := u.Rules()
	text := old.String()
	set(t, s, "u", "-select", "+select|2", "+ping", "&c", "%R~k", "<p", "+echo", "clearselectors", "(+ping)")
	set(t, s, "u", "+select|3")
	if got := old.String(); got != text {
		t.Errorf("the old rules read %q now, before %q", got, text)
	}
	if d := old.Check(cmdSelect, bytesOf([]string{"select", "1"}), Channels{}); d.Reason != Allowed {
		t.Error("the old rules allow SELECT 1 no more")
	}
	if d := old.Check(cmdSelect, bytesOf([]string{"select", "3"}), Channels{}); d.Reason == Allowed {
		t.Error("the old rules allow SELECT 3")
	}
	if d := old.Check(cmdEcho, nil, Channels{}); d.Reason == Allowed {
		t.Error("the old rules allow ECHO")
	}
}

// Which of several refusals is reported decides what a client and the log see.
func TestCheck_NamesTheFarthestRefusal(t *testing.T) {
	cases := []struct {
		rules   string
		command int
		args    []string
		want    Denial
	}{
		{"+publish &a (+subscribe &b)", cmdPSubscribe, []string{"x"}, Denial{DeniedCommand, 0}},
		{"+subscribe &a", cmdSubscribe, []string{"a", "b", "c"}, Denial{DeniedChannel, 2}},
		{"+subscribe &a (+subscribe &b)", cmdSubscribe, []string{"a", "b"}, Denial{DeniedChannel, 2}},
		{"+subscribe &b (+subscribe &a)", cmdSubscribe, []string{"a", "b"}, Denial{DeniedChannel, 2}},
		{"+ping (+subscribe &a)", cmdSubscribe, []string{"b"}, Denial{DeniedChannel, 1}},
		{"(+subscribe &a) (+subscribe &a &b)", cmdSubscribe, []string{"a", "b"}, Denial{}},
		{"allchannels (+subscribe &a)", cmdSubscribe, []string{"b"}, Denial{DeniedChannel, 1}},
		{"", cmdAuth, []string{"x"}, Denial{}},
	}
	for _, c := range cases {
		u := set(t, newTestStore(), "u", strings.Fields(c.rules)...)
		name := testCommands[c.command].Name
		words := append([]string{name}, c.args...)
		if got := u.Rules().Check(c.command, bytesOf(words), channelsOf(name, len(words))); got != c.want {
			t.Errorf("%s: %q: %+v, want %+v", c.rules, words, got, c.want)
		}
	}
}

func TestUnrestricted(t *testing.T) {
	cases := map[string]bool{
		"+@all &*":                     true,
		"+@all &* off":                 true,
		"+@all resetkeys &*":           true,
		"+@all &* -config|set":         false,
		"+@all &* -config|set +config": true,
		"+@all &x":                     false,
		"-@all &*":                     false,
		"+@all &x (+@all &*)":          true,
		"+@all &x (+ping &*)":          false,
		"+@slow +@fast &*":             true,
		"+@all &* -auth":               true, // AUTH cannot be forbidden
	}
	for rules, want := range cases {
		u := set(t, newTestStore(), "u", strings.Fields(rules)...)
		if u.Unrestricted() != want || u.Rules().Unrestricted() != want {
			t.Errorf("%s: unrestricted %v", rules, !want)
		}
	}
}

func TestCheck_DoesNotAllocate(t *testing.T) {
	s := newTestStore()
	u := set(t, s, "u", "+select|0", "+publish", "+subscribe", "&news.*", "(+psubscribe &chat.*)", "(+ping)")
	long := []byte("news." + strings.Repeat("x", 500))
	publish, subscribe := bytesOf([]string{"publish", "", "m"}), bytesOf([]string{"subscribe", "news.a", "other"})
	publish[1] = long
	psubscribe, selects := bytesOf([]string{"psubscribe", "chat.*"}), bytesOf([]string{"select", "1"})
	want := []Reason{Allowed, DeniedChannel, Allowed, DeniedCommand}
	n := testing.AllocsPerRun(200, func() {
		r := u.Rules()
		got := [...]Reason{
			r.Check(cmdPublish, publish, Channels{First: 1, End: 2}).Reason,
			r.Check(cmdSubscribe, subscribe, Channels{First: 1, End: 3}).Reason,
			r.Check(cmdPSubscribe, psubscribe, Channels{First: 1, End: 2, Patterns: true}).Reason,
			r.Check(cmdSelect, selects, Channels{}).Reason,
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("check %d: %v, want %v", i, got[i], want[i])
			}
		}
		if u.Unrestricted() {
			t.Fatal("unrestricted")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSetUser_IsAtomic has readers see whole changes only: the user may either
// publish to a or subscribe to b, never both, never neither.
func TestSetUser_IsAtomic(t *testing.T) {
	s := newTestStore()
	first := []string{"reset", "+publish", "&a", "(+ping &x)"}
	second := []string{"reset", "+subscribe", "&b", "(+echo)"}
	u := set(t, s, "u", first...)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			publish, subscribe := bytesOf([]string{"publish", "a", "m"}), bytesOf([]string{"subscribe", "b"})
			for {
				r := u.Rules()
				a := r.Check(cmdPublish, publish, Channels{First: 1, End: 2}).Reason == Allowed
				b := r.Check(cmdSubscribe, subscribe, Channels{First: 1, End: 2}).Reason == Allowed
				if a == b || r.Covers("a", false) == b || r.Covers("x", false) != a {
					t.Errorf("publish %v, subscribe %v of %q", a, b, r)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 3000 {
		set(t, s, "u", [][]string{second, first}[i%2]...)
		if _, err := s.SetUser("u", []string{"reset", "+@all", "&*", "foo"}); err == nil {
			t.Fatal("foo is a rule")
		}
	}
	close(stop)
	readers.Wait()
}

func TestCovers(t *testing.T) {
	u := set(t, newTestStore(), "u", "-@all", "&a*", "(+ping &b)")
	for name, want := range map[string]bool{"a": true, "ab": true, "b": true, "c": false, "bb": false, "a*": true} {
		if u.Rules().Covers(name, false) != want {
			t.Errorf("channel %q covered: %v", name, !want)
		}
	}
	for pattern, want := range map[string]bool{"a*": true, "b": true, "a": false, "ab": false, "*": false} {
		if u.Rules().Covers(pattern, true) != want {
			t.Errorf("pattern %q covered: %v", pattern, !want)
		}
	}
}

func TestChange_Revokes(t *testing.T) {
	cases := []struct {
		before, after string
		want          bool
	}{
		{"&a", "&b", false},
		{"&a &b", "resetchannels &b &a", false},
		{"&a &b", "resetchannels &b", true},
		{"&a", "resetchannels &*", false},
		{"&*", "resetchannels &a", true},
		{"&*", "resetchannels (&*)", false},
		{"(&a)", "clearselectors &a", false},
		{"(&a)", "clearselectors", true},
		{"(&*) &a", "clearselectors", true},
		{"+@all &a on nopass", "-@all off resetpass", false},
	}
	for _, c := range cases {
		s := newTestStore()
		set(t, s, "u", strings.Fields(c.before)...)
		change, err := s.SetUser("u", strings.Fields(c.after))
		if err != nil {
			t.Fatal(err)
		}
		if change.Revokes() != c.want {
			t.Errorf("%s, then %s: revokes %v", c.before, c.after, !c.want)
		}
	}
	s := newTestStore()
	if c, _ := s.SetUser("u", []string{"&a"}); c.Revokes() {
		t.Error("creating a user revokes something")
	}
	set(t, s, "none")
	if cs, err := s.DeleteUsers([]string{"none"}); err != nil || len(cs) != 1 || !cs[0].Revokes() {
		t.Errorf("deleting a user without channels: %v %v", cs, err)
	}
	if cs, err := s.DeleteUsers([]string{"u"}); err != nil || len(cs) != 1 || !cs[0].Revokes() {
		t.Errorf("deleting a user: %v %v", cs, err)
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, patterns := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("patterns=%d", patterns), func(b *testing.B) {
			rules := []string{"+publish"}
			for i := range patterns {
				rules = append(rules, fmt.Sprintf("&tenant.%d.*", i))
			}
			u := set(b, newTestStore(), "u", rules...)
			args := bytesOf([]string{"publish", fmt.Sprintf("tenant.%d.orders", patterns-1), "m"})
			b.ReportAllocs()
			for b.Loop() {
				if u.Rules().Check(cmdPublish, args, Channels{First: 1, End: 2}).Reason != Allowed {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkUnrestricted(b *testing.B) {
	u := newTestStore().Default()
	b.ReportAllocs()
	for b.Loop() {
		if !u.Unrestricted() {
			b.Fatal("restricted")
		}
	}
}
