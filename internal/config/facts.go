package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Redis's parameters for which there is no setting, because the broker cannot
// be otherwise, or because they are about what it does not have. None of them
// has a field in [Config].
//
// A parameter that would promise something that is not kept is a fact or is
// refused; what remains has no effect. To make one a setting, give it a row
// in settings and take it out of here.

// errWithoutEffect is what set returns for a value that is accepted, kept to be
// shown, and means nothing. It never leaves the package.
var errWithoutEffect = errors.New("accepted without effect")

// maxKeptBytes bounds the values that are kept of a parameter without effect.
const maxKeptBytes = 64 << 10

var errKeptTooLong = fmt.Errorf("argument is longer than %d bytes", maxKeptBytes)

// keep makes CONFIG GET show the value of a parameter without effect: who
// reads back what was written should find it.
func keep(c *Config, name, text string) error {
	if len(text) > maxKeptBytes {
		return errKeptTooLong
	}
	if c.WithoutEffect == nil {
		c.WithoutEffect = map[string]string{}
	}
	c.WithoutEffect[name] = text
	return errWithoutEffect
}

// fact is a parameter with one possible value, which CONFIG GET shows. Other
// values are refused because of why.
func fact(name, value, why string) parameter {
	return parameter{
		name: name, def: value,
		parse: func(_ *Config, values []string) error {
			switch {
			case len(values) == 0 && value != "":
				return errArgCount
			case means(values, value):
				return nil
			}
			return fmt.Errorf("not supported, only %q is: %s", value, why)
		},
		get: func(*Config) string { return value },
	}
}

// idle is a fact whose other values make no difference.
func idle(name, value string) parameter {
	p := parameter{name: name, def: value, idle: true}
	p.parse = func(c *Config, values []string) error {
		switch {
		case len(values) == 0:
			return errArgCount
		case means(values, value):
			delete(c.WithoutEffect, name)
			return nil
		}
		return keep(c, name, strings.Join(values, " "))
	}
	p.get = func(c *Config) string {
		if kept, ok := c.WithoutEffect[name]; ok {
			return kept
		}
		return value
	}
	return p
}

// idleMemory is an idle number of bytes, shown without a unit.
func idleMemory(name, value string) parameter {
	p := idle(name, value)
	p.parse = func(c *Config, values []string) error {
		if len(values) != 1 {
			return errArgCount
		}
		n, err := parseMemory(values[0])
		switch text := strconv.FormatInt(n, 10); {
		case err != nil:
			return errNotMemory
		case text == value:
			delete(c.WithoutEffect, name)
			return nil
		default:
			return keep(c, name, text)
		}
	}
	return p
}

var errSavePoints = redisError("Invalid save parameters")

// savePoints is Redis's list of seconds and changes after which it saves. There
// is nothing to save here, and nothing is lost by not saving it, so any list is
// kept: compose files have one.
func savePoints(name string) parameter {
	p := idle(name, "")
	p.many = true
	p.parse = func(c *Config, values []string) error {
		numbers := strings.Fields(strings.Join(values, " "))
		if len(numbers) == 1 && numbers[0] == `""` {
			numbers = nil
		}
		if len(numbers)%2 != 0 {
			return errSavePoints
		}
		for i, n := range numbers {
			if _, err := parseInt(n, int64(1-i%2), maxInt32); err != nil {
				return errSavePoints
			}
		}
		if len(numbers) == 0 {
			delete(c.WithoutEffect, name)
			return nil
		}
		return keep(c, name, strings.Join(numbers, " "))
	}
	return p
}

// yesNoWithoutEffect is a switch that is off, and means nothing when on.
func yesNoWithoutEffect(name string) parameter {
	p := idle(name, "no")
	inner := p.parse
	p.parse = func(c *Config, values []string) error {
		if len(values) != 1 || !strings.EqualFold(values[0], "yes") && !strings.EqualFold(values[0], "no") {
			return errNotBool
		}
		return inner(c, []string{strings.ToLower(values[0])})
	}
	return p
}

// hidden is p without patterns in CONFIG GET.
func hidden(p parameter) parameter {
	p.hidden = true
	return p
}

// secret is p with values that no error shows.
func secret(p parameter) parameter {
	p.secret = true
	return p
}

// refused is a directive that no value makes acceptable, because of why.
func refused(name, why string) parameter {
	return parameter{
		name:  name,
		parse: func(*Config, []string) error { return fmt.Errorf("not supported: %s", why) },
	}
}

// withoutEffect is a parameter whose values are not looked at. CONFIG GET
// shows it once it was set.
func withoutEffect(name string) parameter {
	return parameter{
		name: name, inert: true,
		parse: func(c *Config, values []string) error {
			if len(values) == 0 {
				return errArgCount
			}
			return keep(c, name, strings.Join(values, " "))
		},
		get: func(c *Config) string { return c.WithoutEffect[name] },
	}
}

// means reports whether the values are another way to write value: in another
// case, or the same number of bytes.
func means(values []string, value string) bool {
	text := strings.TrimSpace(strings.Join(values, " "))
	if strings.EqualFold(text, value) {
		return true
	}
	n, err := parseMemory(text)
	m, err2 := parseMemory(value)
	return err == nil && err2 == nil && n == m
}

// facts returns the rows for what is as it is, in the order in which CONFIG
// GET shows them behind the settings.
func facts() []parameter {
	const (
		noReplica = "there is no replication"
		goTLS     = "Go's TLS library chooses among suites without known weaknesses"
	)
	return []parameter{
		savePoints("save"),
		yesNoWithoutEffect("appendonly"),
		idleMemory("maxmemory", "0"),
		idle("maxmemory-policy", "noeviction"),
		atStart(fact("daemonize", "no", "let a service manager or a container run it in the background")),
		atStart(fact("syslog-enabled", "no", "the log goes to standard output or to logfile")),
		atStart(fact("replicaof", "", noReplica)),
		atStart(fact("slaveof", "", noReplica)),
		idle("oom-score-adj", "no"),
		atStart(hidden(fact("server-cpulist", "", "bind it to processors from outside"))),
		atStart(hidden(fact("server_cpulist", "", "bind it to processors from outside"))),
		atStart(hidden(fact("socket-mark-id", "0", "sockets are not marked"))),
		hidden(fact("client-default-resp", "2", "clients ask for RESP3 with HELLO")),
		hidden(fact("hide-user-data-from-log", "no", "the log names clients and channels")),
		hidden(fact("unixsocketgroup", "", "a socket's group is that of the process")),
		refused("loadmodule", "there are no modules"),
		refused("rename-command", "commands have one name"),
		refused("sentinel", "this is no sentinel"),
		fact("tls-ciphers", "", goTLS),
		fact("tls-ciphersuites", "", goTLS),
		hidden(fact("tls-replication", "no", noReplica)),
		hidden(fact("tls-cluster", "no", "nodes of a cluster do not speak TLS to each other")),
	}
}
