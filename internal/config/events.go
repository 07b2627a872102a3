package config

import "strings"

// The classes of keyspace events, in the order in which Redis prints them:
// those that A stands for, and the others.
const (
	allEvents   = "g$lshzxetd"
	otherEvents = "nKEm"
	allClasses  = "A" + allEvents + otherEvents
)

const errEventClass = redisError("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")

// keyspaceEvents is a set of classes of events, one letter each.
func keyspaceEvents(name, doc, def string, field func(*Config) *string) parameter {
	return parameter{
		name: name, args: "CLASSES", doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			events, err := canonicalEvents(values[0])
			if err == nil {
				*field(c) = events
			}
			return err
		},
		get: func(c *Config) string { return *field(c) },
		check: func(c *Config) error {
			events, err := canonicalEvents(*field(c))
			if err == nil && events != *field(c) {
				err = errEventClass
			}
			return err
		},
	}
}

// canonicalEvents returns the classes that s names as Redis prints them: each
// once, in a fixed order, A in place of all that it stands for. As in Redis n
// is not shown beside A.
func canonicalEvents(s string) (string, error) {
	if strings.Trim(s, allClasses) != "" {
		return "", errEventClass
	}
	has := func(class rune) bool { return strings.ContainsRune(s, class) }
	var b strings.Builder
	all := has('A')
	if !all {
		all = true
		for _, class := range allEvents {
			all = all && has(class)
		}
	}
	if all {
		b.WriteByte('A')
	}
	for _, class := range allEvents + otherEvents {
		if has(class) && !(all && (class == 'n' || strings.ContainsRune(allEvents, class))) {
			b.WriteRune(class)
		}
	}
	return b.String(), nil
}
