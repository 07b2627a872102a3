package acl

import (
	"maps"
	"slices"
	"strings"
)

// A builder makes the next Rules of a user out of the current ones and rules
// in Redis's syntax. It belongs to one goroutine; what it was made from is not
// changed.
type builder struct {
	catalogue *catalogue

	// allChannels: new selectors allow all channels (acl-pubsub-default).
	allChannels bool

	enabled, noPass, skipSanitize bool
	passwords                     ordered[password, struct{}]
	selectors                     []*selectorBuilder // never empty
}

// A selectorBuilder is a selector under construction.
type selectorBuilder struct {
	catalogue *catalogue

	allKeys     bool
	keys        ordered[string, keyAccess]
	allChannels bool
	channels    ordered[string, struct{}]
	commands    []uint64
	firstArgs   map[int][]string
	future      bool
	rules       []commandRule
}

// newBuilder returns a builder for a user as ACL SETUSER creates one: disabled
// and without permissions.
func newBuilder(c *catalogue, allChannels bool) *builder {
	b := &builder{catalogue: c, allChannels: allChannels}
	b.selectors = []*selectorBuilder{b.newSelector()}
	return b
}

func (b *builder) newSelector() *selectorBuilder {
	return &selectorBuilder{
		catalogue:   b.catalogue,
		allChannels: b.allChannels,
		commands:    make([]uint64, (len(b.catalogue.all)+63)/64),
	}
}

// builder returns a builder that begins with r.
func (r *Rules) builder(allChannels bool) *builder {
	b := &builder{
		catalogue: r.catalogue, allChannels: allChannels,
		enabled: r.enabled, noPass: r.noPass, skipSanitize: r.skipSanitize,
	}
	for _, p := range r.passwords {
		b.passwords.set(p, struct{}{})
	}
	for i := range r.selectors {
		b.selectors = append(b.selectors, r.selectors[i].builder(b.catalogue))
	}
	return b
}

func (s *selector) builder(c *catalogue) *selectorBuilder {
	b := &selectorBuilder{
		catalogue: c, allKeys: s.allKeys, allChannels: s.allChannels,
		commands: slices.Clone(s.commands), firstArgs: maps.Clone(s.firstArgs),
		future: s.future, rules: slices.Clone(s.rules),
	}
	for _, k := range s.keys {
		b.keys.set(k.pattern, k.access)
	}
	for _, pattern := range s.channels {
		b.channels.set(pattern.text, struct{}{})
	}
	return b
}

// build returns the rules. The builder must not be used any more.
func (b *builder) build() *Rules {
	r := &Rules{
		catalogue: b.catalogue, enabled: b.enabled, noPass: b.noPass, skipSanitize: b.skipSanitize,
		passwords: b.passwords.keys(),
		selectors: make([]selector, len(b.selectors)),
	}
	for i, s := range b.selectors {
		r.selectors[i] = s.build()
		r.unrestricted = r.unrestricted || r.selectors[i].allowsEverything(b.catalogue)
	}
	return r
}

func (b *selectorBuilder) build() selector {
	s := selector{
		allKeys: b.allKeys, allChannels: b.allChannels,
		commands: b.commands, firstArgs: b.firstArgs, future: b.future, rules: b.rules,
	}
	for _, pattern := range b.keys.keys() {
		s.keys = append(s.keys, keyPattern{b.keys.get(pattern), pattern})
	}
	for _, pattern := range b.channels.keys() {
		s.channels = append(s.channels, newChannelPattern(pattern))
	}
	return s
}

// applyAll applies rules in their order, selectors in one piece or in several.
// It returns an *unmatchedError, or a *ruleError for the first rule that is
// refused; the builder is then of no use.
func (b *builder) applyAll(rules []string) error {
	merged, err := mergeSelectors(rules)
	if err != nil {
		return err
	}
	for _, rule := range merged {
		if err := b.apply(rule); err != nil {
			return &ruleError{rule, err}
		}
	}
	return nil
}

// apply applies one rule. Its error is one of errors.go's.
func (b *builder) apply(rule string) error {
	if rule == "" {
		return nil
	}
	switch toLower(rule[:min(len(rule), len("skip-sanitize-payload")+1)]) {
	case "on":
		b.enabled = true
		return nil
	case "off":
		b.enabled = false
		return nil
	case "skip-sanitize-payload":
		b.skipSanitize = true
		return nil
	case "sanitize-payload":
		b.skipSanitize = false
		return nil
	case "nopass":
		b.noPass = true
		b.passwords.clear()
		return nil
	case "resetpass":
		b.noPass = false
		b.passwords.clear()
		return nil
	case "clearselectors":
		b.selectors = b.selectors[:1]
		return nil
	case "reset":
		*b = *newBuilder(b.catalogue, b.allChannels)
		return nil
	}
	switch rule[0] {
	case '>', '#', '<', '!':
		return b.applyPassword(rule[0], rule[1:])
	case '(':
		if strings.HasSuffix(rule, ")") {
			return b.applySelector(rule[1 : len(rule)-1])
		}
	}
	return b.selectors[0].apply(rule)
}

// applyPassword applies a rule that adds or removes a password, or its hash.
func (b *builder) applyPassword(sign byte, text string) error {
	var p password
	if sign == '>' || sign == '<' {
		p = hash([]byte(text))
	} else {
		var ok bool
		if p, ok = parseHash(text); !ok {
			return errHash
		}
	}
	if sign == '>' || sign == '#' {
		b.passwords.set(p, struct{}{})
		b.noPass = false
		return nil
	}
	if !b.passwords.has(p) {
		return errNoSuchPassword
	}
	b.passwords.remove(p)
	return nil
}

// applySelector adds a selector made of what stands between parentheses.
func (b *builder) applySelector(text string) error {
	if len(b.selectors) >= maxSelectors {
		return errManySelectors
	}
	rules, ok := splitSelector(text)
	if !ok {
		return errSyntax
	}
	s := b.newSelector()
	for _, rule := range rules {
		if err := s.apply(rule); err != nil {
			return err
		}
	}
	b.selectors = append(b.selectors, s)
	return nil
}

// apply applies one rule about keys, channels or commands.
func (b *selectorBuilder) apply(rule string) error {
	if rule == "" {
		return errSyntax
	}
	switch toLower(rule[:min(len(rule), len("resetchannels")+1)]) {
	case "allkeys", "~*":
		b.allKeys = true
		b.keys.clear()
		return nil
	case "resetkeys":
		b.allKeys = false
		b.keys.clear()
		return nil
	case "allchannels", "&*":
		b.allChannels = true
		b.channels.clear()
		return nil
	case "resetchannels":
		b.allChannels = false
		b.channels.clear()
		return nil
	case "allcommands", "+@all":
		b.setAllCommands(true)
		return nil
	case "nocommands", "-@all":
		b.setAllCommands(false)
		return nil
	}
	switch rule[0] {
	case '~', '%':
		return b.addKeyPattern(rule)
	case '&':
		return b.addChannel(rule[1:])
	case '+', '-':
		return b.applyCommand(rule[0] == '+', toLower(rule[1:]))
	}
	return errSyntax
}

func (b *selectorBuilder) addKeyPattern(rule string) error {
	if b.allKeys {
		return errAfterAllKeys
	}
	access, pattern := keyReadWrite, rule[1:]
	if rule[0] == '%' {
		var ok bool
		if access, pattern, ok = parseKeyAccess(pattern); !ok {
			return errSyntax
		}
	}
	switch {
	case hasSpaceOrNUL(pattern):
		return errSyntax
	case len(pattern) > maxPatternBytes:
		return errLongPattern
	}
	b.keys.set(strings.Clone(pattern), access|b.keys.get(pattern))
	return nil
}

// parseKeyAccess reads "R~", "W~", "RW~" or "WR~" before a key pattern.
func parseKeyAccess(text string) (access keyAccess, pattern string, ok bool) {
	for i := range len(text) {
		var one keyAccess
		switch lower(text[i]) {
		case 'r':
			one = keyRead
		case 'w':
			one = keyWrite
		case '~':
			return access, text[i+1:], access != 0
		}
		if one == 0 || access&one != 0 {
			return 0, "", false
		}
		access |= one
	}
	// Redis takes "%R" for "%R~"; without any letter it would have no meaning.
	return access, "", access != 0
}

func (b *selectorBuilder) addChannel(pattern string) error {
	switch {
	case b.allChannels:
		return errAfterAllChannels
	case hasSpaceOrNUL(pattern):
		return errSyntax
	case len(pattern) > maxPatternBytes:
		return errLongPattern
	}
	b.channels.set(strings.Clone(pattern), struct{}{})
	return nil
}
