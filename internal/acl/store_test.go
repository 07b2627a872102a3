package acl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func names(users []*User) []string {
	var list []string
	for _, u := range users {
		list = append(list, u.Name())
	}
	return list
}

func TestStore_HandlesStayTheSame(t *testing.T) {
	s := newTestStore()
	u := set(t, s, "alice", "on", "nopass", "+ping")
	if again := set(t, s, "alice", "-ping"); again != u || s.Lookup("alice") != u {
		t.Fatal("SETUSER has made another handle")
	}
	if may(u, cmdPing) {
		t.Error("the handle does not show the change")
	}
	if _, err := s.DeleteUsers([]string{"alice", "nobody", "alice"}); err != nil {
		t.Fatal(err)
	}
	if s.Lookup("alice") != nil || !u.Rules().Deleted() || u.Rules().Enabled() || may(u, cmdEcho) || u.Rules().Covers("x", false) {
		t.Error("a deleted user may do something")
	}
	if again := set(t, s, "alice", "+@all"); again == u || !u.Rules().Deleted() {
		t.Error("a user who is created again has the handle of the old one")
	}
}

func TestDeleteUsers_RefusesTheDefaultUser(t *testing.T) {
	s := newTestStore()
	set(t, s, "a")
	if _, err := s.DeleteUsers([]string{"a", "default"}); !errors.Is(err, ErrDefaultUser) {
		t.Errorf("error %v", err)
	}
	if got := names(s.Users()); !slices.Equal(got, []string{"a", "default"}) {
		t.Errorf("users %q", got)
	}
}

func TestSetUser_IsAllOrNothing(t *testing.T) {
	s := newTestStore()
	u := set(t, s, "u", "on", ">a", "&a", "+ping")
	before := u.Rules()
	for _, rules := range [][]string{{"off", "reset", "foo"}, {"+@all", "(+ping", "&b"}, {"resetpass", "<a"}, {"nopass", "&a b"}} {
		if _, err := s.SetUser("u", rules); err == nil {
			t.Errorf("%q: no error", rules)
		}
		if _, err := s.SetUser("new", rules); err == nil || s.Lookup("new") != nil {
			t.Errorf("%q: error %v, user %v", rules, err, s.Lookup("new"))
		}
	}
	if u.Rules() != before {
		t.Errorf("the user is %q now", u.Rules())
	}
}

func TestSetUser_Errors(t *testing.T) {
	s := newTestStore()
	for _, c := range []struct {
		name, rule, want string
	}{
		{"a b", "on", "Usernames can't contain spaces or null characters"},
		{"a\x00", "on", "Usernames can't contain spaces or null characters"},
		{"u", "foo", "Error in ACL SETUSER modifier 'foo': Syntax error"},
		{"u", "foo\x00bar", "Error in ACL SETUSER modifier 'foo': Syntax error"},
		{"u", "(+ping", "Unmatched parenthesis in acl selector starting at '(+ping'."},
		{"u", "%", "Error in ACL SETUSER modifier '%': Syntax error"},
		{"u", `(~"a)`, `Error in ACL SETUSER modifier '(~"a)': Syntax error`},
		{"u", "+select|(", "Error in ACL SETUSER modifier '+select|(': Syntax error"},
		{"u", "+config|get|x", "Error in ACL SETUSER modifier '+config|get|x': Allowing first-arg of a subcommand is not supported"},
	} {
		if _, err := s.SetUser(c.name, []string{c.rule}); err == nil || err.Error() != c.want {
			t.Errorf("%q %q: %v, want %s", c.name, c.rule, err, c.want)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	s := newTestStore()
	set(t, s, "alice", "on", ">one", ">two")
	set(t, s, "open", "on", "nopass")
	set(t, s, "off", ">one")
	set(t, s, "none", "on")
	set(t, s, "hash", "on", "#"+hash([]byte("three")).String())
	for _, c := range []struct {
		name, password string
		want           bool
	}{
		{"alice", "one", true}, {"alice", "two", true}, {"alice", "three", false}, {"alice", "", false}, {"alice", "one\x00", false},
		{"ALICE", "one", false}, {"open", "anything", true}, {"off", "one", false}, {"none", "", false}, {"hash", "three", true},
		{"hash", hash([]byte("three")).String(), false}, {"nobody", "one", false}, {"default", "x", true},
	} {
		u := s.Authenticate([]byte(c.name), []byte(c.password))
		if (u != nil) != c.want || u != nil && u != s.Lookup(c.name) {
			t.Errorf("AUTH %s %q: %v, want %v", c.name, c.password, u != nil, c.want)
		}
	}
}

func TestDefaultPassword(t *testing.T) {
	s := newTestStore()
	if !s.Open() {
		t.Error("a new store is closed")
	}
	s.SetDefaultPassword("one")
	s.SetDefaultPassword("two")
	u := s.Default()
	if s.Open() || s.Authenticate([]byte("default"), []byte("one")) != nil || s.Authenticate([]byte("default"), []byte("two")) != u {
		t.Errorf("with a password: %s", u.Rules())
	}
	if !u.Unrestricted() {
		t.Error("the password has taken the default user's permissions away")
	}
	s.SetDefaultPassword("")
	if !s.Open() {
		t.Errorf("without a password: %s", u.Rules())
	}
	set(t, s, "default", "off")
	if s.Open() {
		t.Error("the store is open while the default user is off")
	}
}

func TestAllChannels(t *testing.T) {
	s := newTestStore(func(c *Config) { c.AllChannels = true })
	u := set(t, s, "u", "+publish", "(+subscribe)")
	if got, want := u.Rules().String(), "off sanitize-payload &* -@all +publish (&* -@all +subscribe)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	set(t, s, "u", "resetchannels", "reset")
	if !u.Rules().Covers("x", false) {
		t.Error("reset does not give the default channels back")
	}
	s.SetAllChannels(false)
	if !u.Rules().Covers("x", false) {
		t.Error("acl-pubsub-default has changed a user who was there")
	}
	set(t, s, "u", "reset")
	if u.Rules().Covers("x", false) || set(t, s, "v").Rules().Covers("x", false) {
		t.Error("acl-pubsub-default is not looked at")
	}
}

func TestSelectors_DescribesForGetUser(t *testing.T) {
	u := set(t, newTestStore(), "u", "on", ">x", "+get", "+@pubsub", "%R~a", "~b", "&c", "&d", "(+@all ~* &*)")
	if got, want := strings.Join(u.Rules().Flags(), " "), "on sanitize-payload"; got != want {
		t.Errorf("flags %q, want %q", got, want)
	}
	if got := u.Rules().Passwords(); len(got) != 1 || got[0] != hash([]byte("x")).String() {
		t.Errorf("passwords %q", got)
	}
	want := []Selector{
		{"-@all +get +@pubsub", "%R~a ~b", "&c &d"},
		{"+@all", "~*", "&*"},
	}
	if got := u.Rules().Selectors(); !slices.Equal(got, want) {
		t.Errorf("selectors %q, want %q", got, want)
	}
}

func TestCategories(t *testing.T) {
	s, commands := goldenStore(t)
	if got := s.Categories(); len(got) != 21 || got[0] != "keyspace" || got[20] != "scripting" {
		t.Errorf("categories %q", got)
	}
	for _, category := range s.Categories() {
		var want []string
		for _, c := range commands {
			if slices.Contains(c.Categories, category) {
				want = append(want, c.Name)
			}
		}
		if got, ok := s.CommandsIn(strings.ToUpper(category)); !ok || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v, want %q", category, got, ok, want)
		}
	}
	if _, ok := s.CommandsIn("all"); ok {
		t.Error("all is a category")
	}
}

// Every name of 7.0.15 is among those that rules may have.
func TestRedisNames_HoldsEveryCommand(t *testing.T) {
	_, commands := goldenStore(t)
	known := strings.Fields(redisNames)
	if !slices.IsSorted(known) {
		t.Error("not sorted")
	}
	for _, c := range commands {
		if _, found := slices.BinarySearch(known, c.Name); !found {
			t.Errorf("%s is missing", c.Name)
		}
	}
}

func TestNewStore_RefusesContradictions(t *testing.T) {
	for name, commands := range map[string][]Command{
		"twice":    {{Name: "a", Number: 0}, {Name: "a", Number: 1}},
		"number":   {{Name: "a", Number: 0}, {Name: "b", Number: 0}},
		"gap":      {{Name: "a", Number: 1}},
		"negative": {{Name: "a", Number: -1}},
		"category": {{Name: "a", Number: 0, Categories: []string{"foo"}}},
		"no name":  {{Number: 0}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			NewStore(Config{Commands: commands})
		}()
	}
}

func TestGeneratePassword(t *testing.T) {
	for bits, digits := range map[int]int{1: 1, 4: 1, 5: 2, 8: 2, 9: 3, 256: 64, 4096: 1024} {
		a, b := GeneratePassword(bits), GeneratePassword(bits)
		if len(a) != digits || strings.Trim(a, "0123456789abcdef") != "" {
			t.Errorf("%d bits: %q", bits, a)
		}
		if bits > 100 && a == b {
			t.Errorf("%d bits: the same twice", bits)
		}
	}
}

// TestStore_ConcurrentWriters changes users from several goroutines; the race
// detector looks on. Whatever the order, every change to the user's channels
// is in the end there.
func TestStore_ConcurrentWriters(t *testing.T) {
	const writers, each = 4, 100
	s := newTestStore()
	done := make(chan struct{})
	for w := range writers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range each {
				if _, err := s.SetUser("shared", []string{fmt.Sprintf("&%d.%d", w, i)}); err != nil {
					t.Error(err)
				}
				if _, err := s.SetUser(fmt.Sprint("own", w), []string{"on", "nopass"}); err != nil {
					t.Error(err)
				}
				_ = s.Authenticate(fmt.Append(nil, "own", w), nil)
				_ = names(s.Users())
				_ = s.Lines()
				if _, err := s.DeleteUsers([]string{fmt.Sprint("own", w)}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for range writers {
		<-done
	}
	for w := range writers {
		for i := range each {
			if name := fmt.Sprintf("%d.%d", w, i); !s.Lookup("shared").Rules().Covers(name, false) {
				t.Fatalf("the change &%s is lost", name)
			}
		}
	}
	if got := names(s.Users()); !slices.Equal(got, []string{"default", "shared"}) {
		t.Errorf("users %q", got)
	}
}
