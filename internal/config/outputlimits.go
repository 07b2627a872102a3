package config

import (
	"strconv"
	"strings"
	"time"
)

// An OutputLimit says how much may wait for one client of a class to read
// it. A session is charged the full length of every frame and reply it is
// owed, shared or not.
type OutputLimit struct {
	// HardBytes closes the session as soon as this much waits. 0: no hard
	// limit.
	HardBytes int64

	// SoftBytes closes the session when this much or more has waited
	// without interruption for longer than SoftFor. 0: no soft limit.
	SoftBytes int64

	// SoftFor is the time a session may stay above SoftBytes. 0: no time at
	// all. Set in whole seconds.
	SoftFor time.Duration
}

// OutputLimits holds the limit of each class of client. A session is in
// class pubsub while it has subscriptions.
type OutputLimits struct {
	Normal  OutputLimit
	Replica OutputLimit // accepted and shown as in Redis; the broker has no replicas
	PubSub  OutputLimit
}

const (
	errLimitCount  = redisError("Wrong number of arguments in buffer limit configuration.")
	errLimitClass  = redisError("Invalid client class specified in buffer limit configuration.")
	errLimitNumber = redisError("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
)

// class returns the limit of the named class, nil when there is none.
func (l *OutputLimits) class(name string) *OutputLimit {
	switch strings.ToLower(name) {
	case "normal":
		return &l.Normal
	case "slave", "replica":
		return &l.Replica
	case "pubsub":
		return &l.PubSub
	}
	return nil
}

// outputLimits is one or more groups of class, hard limit, soft limit and
// seconds. Classes that are not named keep what they had.
func outputLimits(name, doc, def string, field func(*Config) *OutputLimits) parameter {
	return parameter{
		name: name, args: "CLASS HARD SOFT SECONDS ...", doc: doc, def: def, many: true, merges: true,
		parse: func(c *Config, values []string) error {
			limits, err := parseOutputLimits(*field(c), values)
			if err == nil {
				*field(c) = limits
			}
			return err
		},
		get:   func(c *Config) string { return field(c).String() },
		check: func(c *Config) error { return field(c).validate() },
		write: func(c, was *Config) []string {
			if was == nil {
				return field(c).changes(nil)
			}
			return field(c).changes(field(was))
		},
	}
}

// parseOutputLimits returns limits with the groups in values applied, the
// last one of a class winning.
func parseOutputLimits(limits OutputLimits, values []string) (OutputLimits, error) {
	const group = 4
	if values == nil || len(values)%group != 0 {
		return limits, errLimitCount
	}
	for ; len(values) > 0; values = values[group:] {
		class := limits.class(values[0])
		if class == nil {
			return limits, errLimitClass
		}
		hard, hardErr := parseMemory(values[1])
		soft, softErr := parseMemory(values[2])
		secs, secsErr := strconv.ParseInt(values[3], 10, 64)
		if hardErr != nil || softErr != nil || secsErr != nil || inRange(secs, 0, maxInt32) != nil {
			return limits, errLimitNumber
		}
		*class = OutputLimit{HardBytes: hard, SoftBytes: soft, SoftFor: time.Duration(secs) * time.Second}
	}
	return limits, nil
}

func (l *OutputLimits) validate() error {
	for _, class := range []OutputLimit{l.Normal, l.Replica, l.PubSub} {
		if class.HardBytes < 0 || class.SoftBytes < 0 || class.SoftFor < 0 || class.SoftFor > maxInt32*time.Second {
			return errLimitNumber
		}
	}
	return nil
}

// changes returns one group for each class that is not as it was, or all of
// them when was is nil.
func (l *OutputLimits) changes(was *OutputLimits) []string {
	var groups []string
	for _, class := range outputClasses {
		limit := l.class(class)
		if was == nil || *limit != *was.class(class) {
			groups = append(groups, strings.Join([]string{
				class, formatMemory(limit.HardBytes), formatMemory(limit.SoftBytes), formatSeconds(limit.SoftFor),
			}, " "))
		}
	}
	return groups
}

// outputClasses are the classes in Redis's order and under the names that
// CONFIG GET shows.
var outputClasses = [...]string{"normal", "slave", "pubsub"}

// String prints the three classes in Redis's order and under Redis's names,
// sizes in bytes, times in seconds.
func (l *OutputLimits) String() string {
	var b strings.Builder
	for i, name := range outputClasses {
		limit := l.class(name)
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name)
		b.WriteByte(' ')
		b.WriteString(strconv.FormatInt(limit.HardBytes, 10))
		b.WriteByte(' ')
		b.WriteString(strconv.FormatInt(limit.SoftBytes, 10))
		b.WriteByte(' ')
		b.WriteString(formatSeconds(limit.SoftFor))
	}
	return b.String()
}
