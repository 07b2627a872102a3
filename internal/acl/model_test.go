package acl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// naiveMatch is Redis's glob as one would define it: by recursion.
func naiveMatch(p, s string) bool {
	if p == "" {
		return s == ""
	}
	if p[0] == '*' {
		return naiveMatch(p[1:], s) || s != "" && naiveMatch(p, s[1:])
	}
	if s == "" {
		return false
	}
	switch p[0] {
	case '?':
		return naiveMatch(p[1:], s[1:])
	case '[':
		end := strings.IndexByte(p, ']') // the patterns here have complete classes without escapes
		class, negated := strings.CutPrefix(p[1:end], "^")
		return strings.Contains(class, s[:1]) != negated && naiveMatch(p[end+1:], s[1:])
	case '\\':
		if len(p) > 1 {
			p = p[1:]
		}
	}
	return p[0] == s[0] && naiveMatch(p[1:], s[1:])
}

// TestCheck_MatchesChannelsAsRedis compares the outcome for a million random
// pairs of an allowed pattern and a channel.
func TestCheck_MatchesChannelsAsRedis(t *testing.T) {
	const users, pairsPerUser = 4000, 250
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "b", "c", "*", "?", "[ab]", "[^a]", `\*`, `\a`, "*"}
	word := func(parts []string, most int) string {
		var b strings.Builder
		for range random.IntN(most + 1) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		return b.String()
	}
	s := newTestStore()
	allowed := 0
	for range users {
		pattern := word(parts, 6)
		if pattern == "*" {
			pattern = "**"
		}
		u := set(t, s, "u", "reset", "+publish", "+psubscribe", "&"+pattern)
		for range pairsPerUser {
			// An empty channel matches the empty pattern only, whatever a star could match.
			channel := "abc*"[random.IntN(4):][:1] + word([]string{"a", "b", "c", "*"}, 7)
			want := naiveMatch(pattern, channel)
			if may(u, cmdPublish, channel, "m") != want || u.Rules().Covers(channel, false) != want {
				t.Fatalf("&%s, PUBLISH %s: allowed %v", pattern, channel, !want)
			}
			if may(u, cmdPSubscribe, channel) != (channel == pattern) || u.Rules().Covers(channel, true) != (channel == pattern) {
				t.Fatalf("&%s, PSUBSCRIBE %s: allowed %v", pattern, channel, channel != pattern)
			}
			if want {
				allowed++
			}
		}
	}
	if n := users * pairsPerUser; allowed < n/50 || allowed > n/2 {
		t.Errorf("%d of %d pairs allowed: the sample says little", allowed, n)
	}
}

// A modelSelector is a selector as a list of what was asked for.
type modelSelector struct {
	allChannels bool
	channels    []string
	commands    map[string]bool // full names
	firstArgs   map[string][]string
}

func newModelSelector() *modelSelector {
	return &modelSelector{commands: map[string]bool{}, firstArgs: map[string][]string{}}
}

// apply follows the documentation of the rules, one command at a time.
func (m *modelSelector) apply(rule string) {
	each := func(allow bool, in func(c Command) bool) {
		for _, c := range testCommands {
			container, _, _ := strings.Cut(c.Name, "|")
			parent := testCommands[slices.IndexFunc(testCommands, func(c Command) bool { return c.Name == container })]
			if in(c) || in(parent) {
				m.commands[c.Name] = allow
				delete(m.firstArgs, c.Name)
			}
		}
	}
	name := rule[1:]
	switch {
	case rule == "&*":
		m.allChannels, m.channels = true, nil
	case rule == "resetchannels":
		m.allChannels, m.channels = false, nil
	case rule[0] == '&':
		if !m.allChannels {
			m.channels = append(m.channels, name)
		}
	case name == "@all":
		each(rule[0] == '+', func(Command) bool { return true })
	case name[0] == '@':
		each(rule[0] == '+', func(c Command) bool { return slices.Contains(c.Categories, name[1:]) })
	case strings.HasPrefix(name, "select|"):
		m.firstArgs["select"] = append(m.firstArgs["select"], name[len("select|"):])
	default:
		each(rule[0] == '+', func(c Command) bool { return c.Name == name })
	}
}

func (m *modelSelector) allows(name string, args []string) bool {
	ok := name == "auth" || m.commands[name] || len(args) > 0 && slices.Contains(m.firstArgs[name], args[0])
	channels := args
	switch name {
	case "publish":
		channels = args[:1]
	case "subscribe", "psubscribe":
	default:
		channels = nil
	}
	for _, channel := range channels {
		found := m.allChannels
		for _, p := range m.channels {
			found = found || p == channel || name != "psubscribe" && naiveMatch(p, channel)
		}
		ok = ok && found
	}
	return ok
}

// TestCheck_AgreesWithTheModel gives users random rules, in and out of
// selectors, and asks about random requests.
func TestCheck_AgreesWithTheModel(t *testing.T) {
	rule := rapid.SampledFrom([]string{
		"+ping", "-ping", "+publish", "-publish", "+subscribe", "-subscribe", "+psubscribe", "+select", "-select",
		"+select|0", "+select|1", "+config", "-config", "+config|get", "-config|get", "+config|set", "+@pubsub",
		"-@pubsub", "+@slow", "-@slow", "+@fast", "+@admin", "-@admin", "+@all", "-@all", "-auth",
		"&a*", "&b", "&*", "&?c", "resetchannels", "+get", "-@hash", "+@connection",
	})
	rules := rapid.SliceOfN(rule, 0, 8)
	channel := rapid.SampledFrom([]string{"a", "ab", "b", "bc", "c", "a*", "?c", "*"})
	rapid.Check(t, func(t *rapid.T) {
		s := newTestStore()
		u := s.Lookup("default")
		if _, err := s.SetUser("default", []string{"reset"}); err != nil {
			t.Fatal(err)
		}
		model := []*modelSelector{newModelSelector()}
		for range rapid.IntRange(0, 4).Draw(t, "calls") {
			list := rules.Draw(t, "rules")
			inSelector := rapid.Bool().Draw(t, "in a selector")
			into := model[0]
			if inSelector {
				into = newModelSelector()
			}
			// "&x" after "&*" is an error, so the list is made good first.
			all := into.allChannels
			list = slices.DeleteFunc(list, func(r string) bool {
				all = r == "&*" || all && r != "resetchannels"
				return all && r[0] == '&' && r != "&*"
			})
			for _, r := range list {
				into.apply(r)
			}
			if inSelector {
				model = append(model, into)
				list = []string{"(" + strings.Join(list, " ") + ")"}
			}
			if _, err := s.SetUser("default", list); err != nil {
				t.Fatal(err)
			}
			for _, c := range testCommands {
				args := rapid.SliceOfN(channel, 1, 3).Draw(t, "args of "+c.Name)
				if c.Number == cmdSelect {
					args = []string{rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, "index")}
				}
				want := slices.ContainsFunc(model, func(m *modelSelector) bool { return m.allows(c.Name, args) })
				if got := may(u, c.Number, args...); got != want {
					t.Fatalf("%s: %s %q allowed: %v", u.Rules(), c.Name, args, got)
				}
			}
			if text := u.Rules().String(); reparsed(t, s, text) != text {
				t.Fatalf("%q reads back as %q", text, reparsed(t, s, text))
			}
		}
	})
}

// reparsed returns how rules read after they were applied to a new user.
func reparsed(t interface{ Fatalf(string, ...any) }, s *Store, text string) string {
	again := newBuilder(s.catalogue, false)
	if err := again.applyAll(strings.Split(text, " ")); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return again.build().String()
}

// FuzzSetUser applies lines as rules: nothing panics, what is refused changes
// nothing, and what is accepted reads back as it is shown.
func FuzzSetUser(f *testing.F) {
	for _, calls := range ruleCalls {
		for _, rules := range calls {
			f.Add(strings.Join(rules, "\n"))
		}
	}
	f.Add("%R~*\n%W~*\n~x")
	f.Add("(&a\" ~b' +get)\n(\"&a)\" +set)")
	f.Add(`("&a\x5c\"" '~b\'c')`)
	f.Add("+select|\"\n+select|a)")
	f.Fuzz(func(t *testing.T, text string) {
		s := newTestStore()
		u := s.Default()
		before := u.Rules()
		if _, err := s.SetUser("default", strings.Split(text, "\n")); err != nil {
			if u.Rules() != before {
				t.Fatal("a refused change is in force")
			}
			return
		}
		shown := u.Rules().String()
		if again := reparsed(t, s, shown); again != shown {
			t.Fatalf("%q reads back as %q", shown, again)
		}
		other := newTestStore()
		if err := other.SetConfigured(s.Lines()); err != nil {
			t.Fatal(err)
		}
		for number := range cmdCount {
			for _, arg := range []string{"a", "0", "b)"} {
				name := testCommands[number].Name
				words := bytesOf([]string{name, arg})
				a := u.Rules().Check(number, words, channelsOf(name, 2))
				b := other.Default().Rules().Check(number, words, channelsOf(name, 2))
				if a != b {
					t.Fatalf("%s %s: %v, and %v after reading %q back", name, arg, a, b, shown)
				}
			}
		}
	})
}

// FuzzFile loads a file: nothing panics, and what was loaded and saved is
// loaded again.
func FuzzFile(f *testing.F) {
	f.Add("user default on nopass ~* &* +@all\nuser a on >p (+get ~x)\n")
	f.Add("user a ( &b +ping\t) \r\n\nuser  on\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := newTestStore()
		users, report := s.parseFile("f", text, false)
		if report != "" {
			return
		}
		s.replaceAll(users)
		var saved strings.Builder
		for _, u := range s.usersNow() {
			fmt.Fprintf(&saved, "user %s %s\n", u.name, u.rules)
		}
		again, report := s.parseFile("f", saved.String(), false)
		if report != "" {
			t.Fatalf("%q: %s", saved.String(), report)
		}
		for _, u := range s.usersNow() {
			if again[u.name] == nil || again[u.name].String() != u.rules.String() {
				t.Fatalf("%q reads back as %v", u.rules, again[u.name])
			}
		}
	})
}
