package acl

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"broker/rcu"
)

// DefaultName is the name of the user that every connection begins as.
const DefaultName = "default"

// A User is a handle to a user. It stays the same when the user's rules
// change. A user who is deleted and created again has another one.
type User struct {
	name  string // immutable
	rules rcu.Cell[Rules]
}

// Name returns the user's name.
func (u *User) Name() string { return u.name }

// Rules returns what the user may do now.
func (u *User) Rules() *Rules { return u.rules.Load() }

// Unrestricted reports whether the user may do everything. It costs one atomic
// load.
func (u *User) Unrestricted() bool { return u.rules.Load().unrestricted }

// Config is what a store is made of.
type Config struct {
	// Commands are those that rules may be about.
	Commands []Command

	// AllChannels gives new users all channels (acl-pubsub-default).
	AllChannels bool

	// LogLen is the number of entries that the log keeps; not negative.
	LogLen int

	// Now is the clock of the log. nil: time.Now.
	Now func() time.Time
}

// A Store is a set of users.
type Store struct {
	// Immutable after NewStore.
	catalogue *catalogue
	standard  *User // the default user, who is never deleted
	log       *Log

	// fileTurn has room for one: whoever reads or writes an ACL file puts
	// something in first, so that what is in the file is what the last to
	// finish had. Nothing but Load and Save waits for it.
	fileTurn chan struct{}

	// users maps names to *User. Any goroutine loads; only the holder of mu
	// stores and deletes.
	users sync.Map

	mu sync.Mutex
	// Guarded by mu: installing rules into users, and:
	allChannels bool
}

// NewStore returns a store with the default user, who may do everything
// without a password. It panics on commands that contradict each other.
func NewStore(cfg Config) *Store { return newStore(newCatalogue(cfg.Commands), cfg) }

func newStore(c *catalogue, cfg Config) *Store {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Store{
		catalogue:   c,
		standard:    &User{name: DefaultName},
		log:         newLog(cfg.LogLen, cfg.Now),
		fileTurn:    make(chan struct{}, 1),
		allChannels: cfg.AllChannels,
	}
	s.standard.rules.Install(c.defaultRules())
	s.users.Store(DefaultName, s.standard)
	return s
}

// defaultRules are those of the default user when nothing else is said.
func (c *catalogue) defaultRules() *Rules {
	b := newBuilder(c, true)
	b.enabled, b.noPass = true, true
	b.selectors[0].allKeys = true
	b.selectors[0].setAllCommands(true)
	return b.build()
}

// Default returns the default user.
func (s *Store) Default() *User { return s.standard }

// Log returns the ACL log.
func (s *Store) Log() *Log { return s.log }

// Lookup returns the user of a name, nil if there is none.
func (s *Store) Lookup(name string) *User {
	u, ok := s.users.Load(name)
	if !ok {
		return nil
	}
	return u.(*User)
}

// Users returns all users in the order of their names. Each is there as it was
// at one moment of the call, not all at the same.
func (s *Store) Users() []*User {
	var list []*User
	s.users.Range(func(_, u any) bool {
		list = append(list, u.(*User))
		return true
	})
	slices.SortFunc(list, func(a, b *User) int { return cmp.Compare(a.name, b.name) })
	return list
}

// Categories returns the names of all categories in Redis's order.
func (s *Store) Categories() []string { return slices.Clone(categoryNames[:]) }

// CommandsIn returns the full names of a category's commands in the order of
// their numbers, and whether there is such a category. Case does not count.
func (s *Store) CommandsIn(category string) (names []string, ok bool) {
	set := categoryOf(category)
	for number, in := range s.catalogue.sets {
		if in&set != 0 {
			names = append(names, s.catalogue.all[number].Name)
		}
	}
	return names, set != 0
}

// A Change is what happened to one user.
type Change struct {
	User          *User
	Before, After *Rules // Before is nil for a new user
}

// Revokes reports whether a channel that was covered before may not be any
// more, so that sessions have to be looked at. It is true for a user who is
// deleted.
func (c Change) Revokes() bool {
	return c.Before != nil && (c.After.deleted || !c.After.coversAllOf(c.Before))
}

// SetUser applies rules to a user, who is created if there is none of that
// name. When one rule is refused, none is applied. The text of an error is
// Redis's reply, without "ERR ".
func (s *Store) SetUser(name string, rules []string) (Change, error) {
	if hasSpaceOrNUL(name) {
		return Change{}, ErrUserName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.Lookup(name)
	if u != nil {
		return s.changeLocked(u, u.Rules().builder(s.allChannels), rules)
	}
	return s.changeLocked(&User{name: name}, newBuilder(s.catalogue, s.allChannels), rules)
}

// changeLocked applies rules and installs the outcome. The caller holds mu.
func (s *Store) changeLocked(u *User, b *builder, rules []string) (Change, error) {
	if err := b.applyAll(rules); err != nil {
		return Change{}, err
	}
	return s.installLocked(u, b.build()), nil
}

// installLocked makes rules the user's, who becomes known if he is new. The
// caller holds mu.
func (s *Store) installLocked(u *User, next *Rules) Change {
	c := Change{User: u, Before: u.Rules(), After: next}
	u.rules.Install(next)
	if c.Before == nil {
		s.users.Store(u.name, u)
	}
	return c
}

// deleteLocked deletes a user. The caller holds mu.
func (s *Store) deleteLocked(u *User) Change {
	s.users.Delete(u.name)
	b := newBuilder(s.catalogue, false)
	gone := b.build()
	gone.deleted = true
	c := Change{User: u, Before: u.Rules(), After: gone}
	u.rules.Install(gone)
	return c
}

// DeleteUsers deletes the users of the names, as far as there are any. It
// returns ErrDefaultUser, and deletes none, if the default user is named.
func (s *Store) DeleteUsers(names []string) ([]Change, error) {
	if slices.Contains(names, DefaultName) {
		return nil, ErrDefaultUser
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var changes []Change
	for _, name := range names {
		if u := s.Lookup(name); u != nil {
			changes = append(changes, s.deleteLocked(u))
		}
	}
	return changes, nil
}

// SetDefaultPassword makes text the only password of the default user, as
// requirepass does. With an empty text none is needed.
func (s *Store) SetDefaultPassword(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.standard.Rules().builder(s.allChannels)
	b.passwords.clear()
	b.noPass = text == ""
	if text != "" {
		b.passwords.set(hash([]byte(text)), struct{}{})
	}
	s.installLocked(s.standard, b.build())
}

// SetAllChannels changes what new users and selectors begin with
// (acl-pubsub-default).
func (s *Store) SetAllChannels(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allChannels = all
}

// Open reports whether a connection needs not log in: the default user is
// enabled and has no password.
func (s *Store) Open() bool {
	r := s.standard.Rules()
	return r.enabled && r.noPass
}

// Authenticate returns the user of a name if that is the user's password, else
// nil. How long it takes says nothing about which password was near, and
// nothing about whether the user exists beyond what comparing hashes costs.
func (s *Store) Authenticate(name, text []byte) *User {
	h := hash(text)
	var r *Rules
	u := s.Lookup(string(name))
	if u != nil {
		r = u.Rules()
	}
	switch {
	case u == nil || !r.enabled:
		return nil
	case r.noPass || anyEqual(r.passwords, h):
		return u
	}
	return nil
}
