package config

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// A Spin is how long a shard looks for work before it sleeps.
type Spin struct {
	Longest  time.Duration // 0: not at all; in whole microseconds
	Adaptive bool          // only while that is worth it
}

// Bounds of a spin, in microseconds, and the one of auto.
const (
	maxSpinMicros  = 1000
	autoSpinMicros = 50
)

var errNotSpin = errors.New("argument must be 'off', 'auto' or a number of microseconds between 1 and 1000")

// spinning is a Spin: off, auto or microseconds.
func spinning(name, doc, def string, field func(*Config) *Spin) parameter {
	return parameter{
		name: name, args: "off|auto|MICROSECONDS", doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			switch v := strings.ToLower(values[0]); v {
			case "off":
				*field(c) = Spin{}
			case "auto":
				*field(c) = Spin{autoSpinMicros * time.Microsecond, true}
			default:
				n, err := parseInt(v, 1, maxSpinMicros)
				if err != nil {
					return errNotSpin
				}
				*field(c) = Spin{time.Duration(n) * time.Microsecond, false}
			}
			return nil
		},
		get: func(c *Config) string {
			switch s := *field(c); {
			case s.Longest == 0:
				return "off"
			case s.Adaptive:
				return "auto"
			default:
				return strconv.FormatInt(s.Longest.Microseconds(), 10)
			}
		},
		check: func(c *Config) error {
			if d := field(c).Longest; d < 0 || d > maxSpinMicros*time.Microsecond {
				return errNotSpin
			}
			return nil
		},
	}
}
