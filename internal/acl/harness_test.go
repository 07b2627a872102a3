package acl

import (
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Numbers of the commands of newTestStore.
const (
	cmdAuth = iota
	cmdPing
	cmdPublish
	cmdSubscribe
	cmdPSubscribe
	cmdSelect
	cmdConfig
	cmdConfigGet
	cmdConfigSet
	cmdEcho
	cmdCount
)

var testCommands = []Command{
	{"auth", cmdAuth, []string{"fast", "connection"}, true},
	{"ping", cmdPing, []string{"fast", "connection"}, false},
	{"publish", cmdPublish, []string{"pubsub", "fast"}, false},
	{"subscribe", cmdSubscribe, []string{"pubsub", "slow"}, false},
	{"psubscribe", cmdPSubscribe, []string{"pubsub", "slow"}, false},
	{"select", cmdSelect, []string{"fast", "connection"}, false},
	{"config", cmdConfig, []string{"slow"}, false},
	{"config|get", cmdConfigGet, []string{"admin", "slow", "dangerous"}, false},
	{"config|set", cmdConfigSet, []string{"admin", "slow", "dangerous"}, false},
	{"echo", cmdEcho, []string{"fast", "connection"}, false},
}

var testCatalogue = sync.OnceValue(func() *catalogue { return newCatalogue(testCommands) })

// newTestStore returns a store with few commands.
func newTestStore(change ...func(*Config)) *Store {
	cfg := Config{LogLen: 128}
	for _, f := range change {
		f(&cfg)
	}
	return newStore(testCatalogue(), cfg)
}

// set applies rules that must be good and returns the user.
func set(t testing.TB, s *Store, name string, rules ...string) *User {
	t.Helper()
	c, err := s.SetUser(name, rules)
	if err != nil {
		t.Fatalf("SETUSER %s %q: %v", name, rules, err)
	}
	return c.User
}

// may reports whether the user may run a request of one of testCommands.
func may(u *User, command int, args ...string) bool {
	name := testCommands[command].Name
	words := append([]string{name}, args...)
	return u.Rules().Check(command, bytesOf(words), channelsOf(name, len(words))).Reason == Allowed
}
