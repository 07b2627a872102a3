package config

import (
	"errors"
	"strconv"
	"strings"
)

// A MemoryLimit is a number of bytes, or a share of the memory that the
// process may use. One of its fields is 0; both are when there is no limit.
type MemoryLimit struct {
	Bytes   int64
	Percent int // 1 to 100
}

// Of returns the limit in bytes when the process may use available bytes. 0
// is no limit.
func (m MemoryLimit) Of(available int64) int64 {
	if m.Percent == 0 {
		return m.Bytes
	}
	percent := int64(m.Percent)
	return available/100*percent + available%100*percent/100
}

// String prints the limit as CONFIG GET does.
func (m MemoryLimit) String() string {
	if m.Percent != 0 {
		return strconv.Itoa(m.Percent) + "%"
	}
	return strconv.FormatInt(m.Bytes, 10)
}

const (
	errNotMemoryLimit = redisError("argument must be a memory or percent value")
	errOver100Percent = redisError("percentage argument must be less or equal to 100")
)

var errMemoryLimit = errors.New("argument must be a number of bytes or a percentage, not both, and not negative")

// memoryLimit is a number of bytes with an optional unit, or a percentage.
func memoryLimit(name, doc, def string, field func(*Config) *MemoryLimit) parameter {
	return parameter{
		name: name, args: "LIMIT", doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			m, err := parseMemoryLimit(values[0])
			if err == nil {
				*field(c) = m
			}
			return err
		},
		get: func(c *Config) string { return field(c).String() },
		write: func(c, _ *Config) []string {
			if field(c).Percent != 0 {
				return []string{field(c).String()}
			}
			return []string{formatMemory(field(c).Bytes)}
		},
		check: func(c *Config) error {
			m := *field(c)
			if m.Bytes < 0 || m.Percent < 0 || m.Percent > 100 || m.Bytes != 0 && m.Percent != 0 {
				return errMemoryLimit
			}
			return nil
		},
	}
}

func parseMemoryLimit(s string) (MemoryLimit, error) {
	if digits, ok := strings.CutSuffix(s, "%"); ok {
		n, err := parseInt(digits, 0, maxInt32)
		switch {
		case err != nil:
			return MemoryLimit{}, errNotMemoryLimit
		case n > 100:
			return MemoryLimit{}, errOver100Percent
		}
		return MemoryLimit{Percent: int(n)}, nil
	}
	n, err := parseMemory(s)
	if err != nil {
		return MemoryLimit{}, errNotMemoryLimit
	}
	return MemoryLimit{Bytes: n}, nil
}
