package acl

import "strings"

// String returns the rules as ACL LIST and ACL SAVE show them behind the
// user's name. Applied to a new user, the text gives the same rules.
func (r *Rules) String() string {
	var b strings.Builder
	for i, word := range r.words() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

// words returns the rules as arguments for ACL SETUSER, a selector being one.
func (r *Rules) words() []string {
	words := r.Flags()
	for _, p := range r.passwords {
		words = append(words, "#"+p.String())
	}
	words = r.selectors[0].appendWords(words)
	for i := range r.selectors[1:] {
		inner := r.selectors[1+i].appendWords(nil)
		for j := range inner {
			inner[j] = quoteInSelector(inner[j])
		}
		words = append(words, "("+strings.Join(inner, " ")+")")
	}
	return words
}

// Flags returns how the user logs in, as ACL GETUSER shows it.
func (r *Rules) Flags() []string {
	flags := make([]string, 0, 3)
	if r.enabled {
		flags = append(flags, "on")
	} else {
		flags = append(flags, "off")
	}
	if r.noPass {
		flags = append(flags, "nopass")
	}
	if r.skipSanitize {
		return append(flags, "skip-sanitize-payload")
	}
	return append(flags, "sanitize-payload")
}

// Passwords returns the SHA-256 of every password in hexadecimal digits.
func (r *Rules) Passwords() []string {
	list := make([]string, len(r.passwords))
	for i, p := range r.passwords {
		list[i] = p.String()
	}
	return list
}

// A Selector describes one set of permissions as ACL GETUSER does. Commands
// are rules, as "-@all +get"; keys and channels are patterns, each with its
// sign.
type Selector struct {
	Commands, Keys, Channels string
}

// Selectors describes the permissions: first those outside parentheses, then
// the others.
func (r *Rules) Selectors() []Selector {
	list := make([]Selector, len(r.selectors))
	for i := range r.selectors {
		s := &r.selectors[i]
		list[i] = Selector{
			Commands: strings.Join(s.appendCommands(nil), " "),
			Keys:     strings.Join(s.appendKeys(nil), " "),
			Channels: strings.Join(s.appendChannels(nil), " "),
		}
	}
	return list
}

func (s *selector) appendWords(words []string) []string {
	words = s.appendKeys(words)
	if !s.allChannels {
		words = append(words, "resetchannels")
	}
	return s.appendCommands(s.appendChannels(words))
}

func (s *selector) appendKeys(words []string) []string {
	if s.allKeys {
		return append(words, "~*")
	}
	first := len(words)
	for _, k := range s.keys {
		switch {
		case k.access == keyRead:
			words = append(words, "%R~"+k.pattern)
		case k.access == keyWrite:
			words = append(words, "%W~"+k.pattern)
		case k.pattern == "*":
			// Put together from %R~* and %W~*. Nothing may follow "~*".
			return append(words[:first], "~*")
		default:
			words = append(words, "~"+k.pattern)
		}
	}
	return words
}

func (s *selector) appendChannels(words []string) []string {
	if s.allChannels {
		return append(words, "&*")
	}
	for _, pattern := range s.channels {
		words = append(words, "&"+pattern.text)
	}
	return words
}

func (s *selector) appendCommands(words []string) []string {
	if s.future {
		words = append(words, "+@all")
	} else {
		words = append(words, "-@all")
	}
	for _, rule := range s.rules {
		sign := "-"
		if rule.allow {
			sign = "+"
		}
		words = append(words, sign+rule.name)
	}
	return words
}
