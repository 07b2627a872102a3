package acl

import (
	"strings"

	"broker/internal/glob"
)

// Rules are what one user may do, and how the user logs in. They are immutable
// and may be read by any goroutine.
type Rules struct {
	catalogue *catalogue

	enabled      bool // logging in is possible
	noPass       bool // with any password
	skipSanitize bool // a flag without a meaning here
	deleted      bool // of a user who is gone
	passwords    []password

	// selectors are alternatives: each allows what it allows on its own. The
	// first one is made of the rules outside parentheses.
	selectors []selector

	unrestricted bool // one of the selectors allows everything
}

// A selector is one set of permissions.
type selector struct {
	allKeys     bool
	keys        []keyPattern
	allChannels bool
	channels    []channelPattern

	commands  []uint64 // a bit for each command's number
	firstArgs map[int][]string
	// future: the rules begin with +@all, so that they allow what commands
	// are still to come. It decides how they are shown.
	future bool
	rules  []commandRule // behind +@all or -@all, as they are shown
}

// A channelPattern is a pattern without '&', and the literals that every name
// it matches begins and ends with, which tell most others apart at once.
type channelPattern struct {
	text, prefix, suffix string
}

func newChannelPattern(text string) channelPattern {
	prefix, suffix, _ := glob.Literals(text)
	return channelPattern{text, prefix, suffix}
}

func (p *channelPattern) matches(name string) bool {
	return strings.HasPrefix(name, p.prefix) && strings.HasSuffix(name, p.suffix) && glob.Match(p.text, name)
}

type keyPattern struct {
	access  keyAccess
	pattern string
}

type keyAccess uint8

const (
	keyRead keyAccess = 1 << iota
	keyWrite
	keyReadWrite = keyRead | keyWrite
)

// A commandRule allows or forbids a command, or a category with its '@'.
type commandRule struct {
	name  string
	allow bool
}

func (s *selector) allows(number int) bool {
	return s.commands[number/64]&(1<<(number%64)) != 0
}

// allowsArg reports whether the command is allowed because of its first
// argument. args begins with the command itself.
func (s *selector) allowsArg(number int, args [][]byte) bool {
	if s.firstArgs == nil || len(args) < 2 {
		return false
	}
	for _, arg := range s.firstArgs[number] {
		if equalFold(arg, view(args[1])) {
			return true
		}
	}
	return false
}

// allowsChannel reports whether a channel may be used. A pattern that is
// subscribed to has to stand among the allowed ones, letter by letter.
func (s *selector) allowsChannel(name string, isPattern bool) bool {
	if s.allChannels {
		return true
	}
	for i := range s.channels {
		if p := &s.channels[i]; isPattern && p.text == name || !isPattern && p.matches(name) {
			return true
		}
	}
	return false
}

// allowsEverything reports whether no check of the selector can fail.
func (s *selector) allowsEverything(c *catalogue) bool {
	if !s.allChannels {
		return false
	}
	for i := range c.all {
		if !c.all[i].NoAuth && !s.allows(i) {
			return false
		}
	}
	return true
}

// Channels says which arguments of a command are channels that need to be
// allowed: those from First to before End. The zero value: none.
type Channels struct {
	First, End int

	// Patterns: they are patterns to subscribe to, not names.
	Patterns bool
}

// A Reason is what is not allowed.
type Reason uint8

const (
	Allowed       Reason = iota
	DeniedCommand        // the command itself
	DeniedChannel        // one of the channels
	DeniedAuth           // logging in; only in the ACL log
)

// String returns the word that ACL LOG has for the reason.
func (r Reason) String() string {
	return [...]string{"", "command", "channel", "auth"}[r]
}

// A Denial is the outcome of a check.
type Denial struct {
	Reason Reason // Allowed: there is nothing to deny
	Arg    int    // of DeniedChannel: the index of the channel's argument
}

// Check reports whether a command may be run. args are the command itself and
// its arguments; they are only read, and only during the call. All channels
// have to be allowed by the selector that allows the command. When none allows
// everything, the answer is the channel farthest to the right that stopped a
// selector, or the command when all selectors forbid that.
//
// It allocates nothing and takes as long as matching every channel with every
// pattern.
func (r *Rules) Check(command int, args [][]byte, channels Channels) Denial {
	if r.unrestricted {
		return Denial{}
	}
	denial := Denial{Reason: DeniedCommand}
	for i := range r.selectors {
		s := &r.selectors[i]
		d := s.check(r.catalogue, command, args, channels)
		if d.Reason == Allowed {
			return d
		}
		if d.Reason > denial.Reason || d.Reason == denial.Reason && d.Arg > denial.Arg {
			denial = d
		}
	}
	return denial
}

func (s *selector) check(c *catalogue, command int, args [][]byte, channels Channels) Denial {
	if !s.allows(command) && !c.all[command].NoAuth && !s.allowsArg(command, args) {
		return Denial{Reason: DeniedCommand}
	}
	if s.allChannels {
		return Denial{}
	}
	for i := channels.First; i < channels.End; i++ {
		if !s.allowsChannel(view(args[i]), channels.Patterns) {
			return Denial{Reason: DeniedChannel, Arg: i}
		}
	}
	return Denial{}
}

// Covers reports whether any selector allows a channel, or a pattern, to be
// held. What commands are allowed does not count: a subscription outlives the
// permission to subscribe.
func (r *Rules) Covers(name string, isPattern bool) bool {
	for i := range r.selectors {
		if r.selectors[i].allowsChannel(name, isPattern) {
			return true
		}
	}
	return false
}

// coversAllOf reports whether r certainly covers everything that before covers.
func (r *Rules) coversAllOf(before *Rules) bool {
	if r == before {
		return true
	}
	have := map[string]struct{}{}
	for i := range r.selectors {
		if r.selectors[i].allChannels {
			return true
		}
		for _, pattern := range r.selectors[i].channels {
			have[pattern.text] = struct{}{}
		}
	}
	for i := range before.selectors {
		if before.selectors[i].allChannels {
			return false
		}
		for _, pattern := range before.selectors[i].channels {
			if _, ok := have[pattern.text]; !ok {
				return false
			}
		}
	}
	return true
}

// Unrestricted reports whether Check allows everything.
func (r *Rules) Unrestricted() bool { return r.unrestricted }

// Enabled reports whether the user can log in.
func (r *Rules) Enabled() bool { return r.enabled }

// NoPass reports whether the user needs no password.
func (r *Rules) NoPass() bool { return r.noPass }

// Deleted reports whether the user is gone. Such a user may do nothing.
func (r *Rules) Deleted() bool { return r.deleted }
