package config

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// The kinds of parameter. Each function returns a row whose parse, get and
// check treat the field that its last argument points out.

// Limits of the textual kinds, Redis's own.
const (
	maxBindAddrs      = 16
	maxSocketPathSize = 108  // sun_path of a Linux sockaddr_un, its final NUL included
	maxPathSize       = 4096 // PATH_MAX of Linux, the final NUL included
)

const (
	errArgCount     = redisError("wrong number of arguments")
	errTooManyBinds = redisError("Too many bind addresses specified.")
	errNotBool      = redisError("argument must be 'yes' or 'no'")
)

var (
	errEmptyAddr = errors.New("argument contains an empty address")
	errNoEpoll   = errors.New("epoll is not available on this system")
	errNULByte   = errors.New("argument contains a NUL byte")
)

// number is a decimal integer from lo to hi.
func number(name, doc, def string, lo, hi int64, field func(*Config) *int) parameter {
	return parameter{
		name: name, args: "N", doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			n, err := parseInt(values[0], lo, hi)
			if err == nil {
				*field(c) = int(n)
			}
			return err
		},
		get:   func(c *Config) string { return strconv.Itoa(*field(c)) },
		check: func(c *Config) error { return inRange(int64(*field(c)), lo, hi) },
	}
}

// number64 is a number whose field is as wide as Redis's on every system. args
// names its unit.
func number64(name, args, doc, def string, lo, hi int64, field func(*Config) *int64) parameter {
	return parameter{
		name: name, args: args, doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			n, err := parseInt(values[0], lo, hi)
			if err == nil {
				*field(c) = n
			}
			return err
		},
		get:   func(c *Config) string { return strconv.FormatInt(*field(c), 10) },
		check: func(c *Config) error { return inRange(*field(c), lo, hi) },
	}
}

// port is a number that may also be [AnyPort], except on the command line.
func port(name, doc, def string, field func(*Config) *int) parameter {
	p := number(name, doc, def, 0, 65535, field)
	p.args = "PORT"
	inPorts := p.check
	p.check = func(c *Config) error {
		if *field(c) == AnyPort {
			return nil
		}
		return inPorts(c)
	}
	return p
}

// seconds is a duration written as a whole number of seconds from lo to hi.
func seconds(name, doc, def string, lo, hi int64, field func(*Config) *time.Duration) parameter {
	return parameter{
		name: name, args: "SECONDS", doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			n, err := parseInt(values[0], lo, hi)
			if err == nil {
				*field(c) = time.Duration(n) * time.Second
			}
			return err
		},
		get: func(c *Config) string { return formatSeconds(*field(c)) },
		check: func(c *Config) error {
			d := *field(c)
			if d < time.Duration(lo)*time.Second || d > time.Duration(hi)*time.Second {
				return rangeError(lo, hi)
			}
			return nil
		},
	}
}

// memory is a number of bytes from lo to hi, with an optional unit.
func memory(name, doc, def string, lo, hi int64, field func(*Config) *int64) parameter {
	return parameter{
		name: name, args: "BYTES", doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			n, err := parseMemory(values[0])
			if errors.Is(err, errMemoryOverflow) {
				return rangeError(lo, hi)
			}
			if err == nil {
				err = inRange(n, lo, hi)
			}
			if err == nil {
				*field(c) = n
			}
			return err
		},
		get:   func(c *Config) string { return strconv.FormatInt(*field(c), 10) },
		check: func(c *Config) error { return inRange(*field(c), lo, hi) },
		write: func(c, _ *Config) []string {
			return []string{formatMemory(*field(c))}
		},
	}
}

// permissions is the nine permission bits of a file, in octal.
func permissions(name, doc, def string, field func(*Config) *uint32) parameter {
	const all = 0o777
	return parameter{
		name: name, args: "OCTAL", doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			n, err := parseOctal(values[0], all)
			if err == nil {
				*field(c) = n
			}
			return err
		},
		get: func(c *Config) string { return strconv.FormatUint(uint64(*field(c)), 8) },
		check: func(c *Config) error {
			if *field(c) > all {
				return octalRangeError(all)
			}
			return nil
		},
	}
}

// addresses is a list of addresses to listen on; the empty list is allowed.
func addresses(name, doc, def string, field func(*Config) *[]string) parameter {
	check := func(addrs []string) error {
		if len(addrs) > maxBindAddrs {
			return errTooManyBinds
		}
		for _, a := range addrs {
			if strings.TrimPrefix(a, "-") == "" || len(strings.Fields(a)) != 1 {
				return errEmptyAddr
			}
			if strings.IndexByte(a, 0) >= 0 {
				return errNULByte
			}
		}
		return nil
	}
	return parameter{
		name: name, args: "ADDR ...", doc: doc, def: def, many: true,
		parse: func(c *Config, values []string) error {
			err := check(values)
			if err == nil {
				*field(c) = append([]string{}, values...) // the empty list in one way
			}
			return err
		},
		get:   func(c *Config) string { return strings.Join(*field(c), " ") },
		check: func(c *Config) error { return check(*field(c)) },
	}
}

// socketPath is the path of a Unix socket, or empty.
func socketPath(name, doc, def string, field func(*Config) *string) parameter {
	return boundedPath(name, "unix socket path", doc, def, maxSocketPathSize, field)
}

// filePath is the path of a file, or empty.
func filePath(name, doc, def string, field func(*Config) *string) parameter {
	return boundedPath(name, "path", doc, def, maxPathSize, field)
}

// text is any text of less than 4096 bytes.
func text(name, args, doc, def string, field func(*Config) *string) parameter {
	check := func(value string) error {
		if len(value) >= maxPathSize {
			return fmt.Errorf("argument too long (%d), must be under %d", len(value), maxPathSize)
		}
		return nil
	}
	return parameter{
		name: name, args: args, doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			err := check(values[0])
			if err == nil {
				*field(c) = values[0]
			}
			return err
		},
		get:   func(c *Config) string { return *field(c) },
		check: func(c *Config) error { return check(*field(c)) },
	}
}

// boundedPath is a path of less than size bytes, or empty. what names it in an error.
func boundedPath(name, what, doc, def string, size int, field func(*Config) *string) parameter {
	check := func(path string) error {
		if len(path) >= size {
			return fmt.Errorf("%s too long (%d), must be under %d", what, len(path), size)
		}
		if strings.IndexByte(path, 0) >= 0 {
			return errNULByte
		}
		return nil
	}
	return parameter{
		name: name, args: "PATH", doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			err := check(values[0])
			if err == nil {
				*field(c) = values[0]
			}
			return err
		},
		get:   func(c *Config) string { return *field(c) },
		check: func(c *Config) error { return check(*field(c)) },
	}
}

// yesNo is a bool in Redis's words.
func yesNo(name, doc, def string, field func(*Config) *bool) parameter {
	p := enum(name, doc, def, []choice[bool]{{"yes", true}, {"no", false}}, nil, field)
	parse := p.parse
	p.parse = func(c *Config, values []string) error {
		if parse(c, values) != nil {
			return errNotBool
		}
		return nil
	}
	return p
}

// A choice is one word an enumerated parameter accepts, in any case.
type choice[T comparable] struct {
	word  string
	value T
}

// enum is one of a few words. usable, which may be nil, refuses values this
// system cannot serve.
func enum[T comparable](name, doc, def string, choices []choice[T], usable func(T) error, field func(*Config) *T) parameter {
	words := make([]string, len(choices))
	for i, ch := range choices {
		words[i] = ch.word
	}
	errNotOne := redisError("argument(s) must be one of the following: " + strings.Join(words, ", "))
	find := func(match func(choice[T]) bool) (choice[T], error) {
		for _, ch := range choices {
			if !match(ch) {
				continue
			}
			if usable != nil {
				return ch, usable(ch.value)
			}
			return ch, nil
		}
		return choice[T]{}, errNotOne
	}
	isField := func(c *Config) func(choice[T]) bool {
		return func(ch choice[T]) bool { return ch.value == *field(c) }
	}
	return parameter{
		name: name, args: strings.Join(words, "|"), doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			ch, err := find(func(ch choice[T]) bool { return strings.EqualFold(ch.word, values[0]) })
			if err == nil {
				*field(c) = ch.value
			}
			return err
		},
		get: func(c *Config) string {
			ch, _ := find(isField(c))
			return ch.word
		},
		check: func(c *Config) error {
			_, err := find(isField(c))
			return err
		},
	}
}

// driver is the name of an I/O driver this system has.
func driver(name, doc, def string, field func(*Config) *Driver) parameter {
	return enum(name, doc, def,
		[]choice[Driver]{{"epoll", DriverEpoll}, {"net", DriverNet}},
		func(d Driver) error {
			if d == DriverEpoll && runtime.GOOS != "linux" {
				return errNoEpoll
			}
			return nil
		}, field)
}

// levelNone is above every level that is logged.
const levelNone = slog.Level(1 << 20)

// level is one of Redis's names for log levels. Redis has one more between
// debug and what slog calls info.
func level(name, doc, def string, field func(*Config) *slog.Level) parameter {
	return enum(name, doc, def, []choice[slog.Level]{
		{"debug", slog.LevelDebug},
		{"verbose", (slog.LevelDebug + slog.LevelInfo) / 2},
		{"notice", slog.LevelInfo},
		{"warning", slog.LevelWarn},
		{"nothing", levelNone},
	}, nil, field)
}
