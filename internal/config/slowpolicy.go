package config

import (
	"errors"
	"strconv"
	"strings"
)

// A SlowPolicy is what becomes of messages for a subscriber that does not keep
// up.
type SlowPolicy string

const (
	// SlowDisconnect keeps all of them and closes the session at its output
	// limit.
	SlowDisconnect SlowPolicy = "disconnect"
	// SlowDropOldest drops the oldest undelivered ones.
	SlowDropOldest SlowPolicy = "drop-oldest"
	// SlowDropNewest drops what arrives while there is no room.
	SlowDropNewest SlowPolicy = "drop-newest"
	// SlowConflate keeps the newest undelivered one of each channel.
	SlowConflate SlowPolicy = "conflate"
)

var slowPolicies = []choice[SlowPolicy]{
	{"disconnect", SlowDisconnect}, {"drop-oldest", SlowDropOldest},
	{"drop-newest", SlowDropNewest}, {"conflate", SlowConflate},
}

// A NamedSlowPolicy is the policy of some channels or of a user, and the bytes
// of undelivered messages from which it drops.
type NamedSlowPolicy struct {
	Name       string // a channel pattern, or a user
	Policy     SlowPolicy
	LimitBytes int64
}

// maxNamedPolicies bounds a list that is walked for each message to a
// subscriber that is behind.
const maxNamedPolicies = 256

// Bounds of a policy's limit.
const (
	minSlowLimit = 1
	maxSlowLimit = 1 << 40
)

var (
	errSlowPolicyWords  = errors.New("expected groups of three: NAME POLICY BYTES")
	errSlowPolicyKind   = errors.New("policy must be one of disconnect, drop-oldest, drop-newest, conflate")
	errTooManyPolicies  = errors.New("at most 256 groups are accepted")
	errSlowPolicyName   = errors.New("argument contains an empty name, or one with blanks")
	errSlowPolicyRepeat = errors.New("argument names something twice")
)

// namedSlowPolicies is a list of names with their policies.
func namedSlowPolicies(name, args, doc string, field func(*Config) *[]NamedSlowPolicy) parameter {
	return parameter{
		name: name, args: args, doc: doc, def: "", many: true,
		parse: func(c *Config, values []string) error {
			list, err := parseNamedPolicies(values)
			if err == nil {
				*field(c) = list
			}
			return err
		},
		get: func(c *Config) string {
			var words []string
			for _, p := range *field(c) {
				words = append(words, p.Name, string(p.Policy), strconv.FormatInt(p.LimitBytes, 10))
			}
			return strings.Join(words, " ")
		},
		check: func(c *Config) error { return checkNamedPolicies(*field(c)) },
	}
}

func parseNamedPolicies(values []string) ([]NamedSlowPolicy, error) {
	if len(values)%3 != 0 {
		return nil, errSlowPolicyWords
	}
	var list []NamedSlowPolicy
	for ; len(values) > 0; values = values[3:] {
		limit, err := parseMemory(values[2])
		if errors.Is(err, errMemoryOverflow) {
			err = rangeError(minSlowLimit, maxSlowLimit)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, NamedSlowPolicy{values[0], SlowPolicy(strings.ToLower(values[1])), limit})
	}
	return list, checkNamedPolicies(list)
}

func checkNamedPolicies(list []NamedSlowPolicy) error {
	if len(list) > maxNamedPolicies {
		return errTooManyPolicies
	}
	seen := map[string]bool{}
	for _, p := range list {
		known := false
		for _, ch := range slowPolicies {
			known = known || ch.value == p.Policy
		}
		switch {
		case p.Name == "" || len(strings.Fields(p.Name)) != 1 || strings.Fields(p.Name)[0] != p.Name:
			return errSlowPolicyName
		case !known:
			return errSlowPolicyKind
		case seen[p.Name]:
			return errSlowPolicyRepeat
		}
		if err := inRange(p.LimitBytes, minSlowLimit, maxSlowLimit); err != nil {
			return err
		}
		seen[p.Name] = true
	}
	return nil
}
