package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	errAtStart   = redisError("can't set immutable config")
	errProtected = redisError("can't set protected config")
	errDuplicate = redisError("duplicate parameter")
)

// A SetError says why CONFIG SET changed nothing. Its text is Redis's whole
// reply without the leading '-', of one line.
type SetError struct {
	Name string // the parameter that is to blame, as the reply shows it
	Why  error  // nil: there is no such parameter
}

func (e *SetError) Error() string {
	name, _, _ := strings.Cut(clip(e.Name), "\x00")
	if e.Why == nil {
		return fmt.Sprintf("ERR Unknown option or number of arguments for CONFIG SET - '%s'", name)
	}
	return fmt.Sprintf("ERR CONFIG SET failed (possibly related to argument '%s') - %s", name, e.Why)
}

func (e *SetError) Unwrap() error { return e.Why }

// Set returns c with the parameters changed that pairs name, in any case, or
// a [*SetError] when one of them cannot be: all take effect or none. It is for
// a running broker: what may be set at start only is refused. Parameters
// without effect are kept and shown.
//
// The new Config passes Validate if c does, and shares with c only what is
// never written. c stays as it is.
func (c *Config) Set(pairs []Pair) (Config, error) {
	rows := make([]*parameter, len(pairs))
	for i, pair := range pairs {
		p := lookup(table(), pair.Name)
		switch {
		case p == nil || p.get == nil || p.lines:
			return Config{}, &SetError{Name: pair.Name}
		case p.atStart && !(p.ours && p.isSetTo(c, pair.Value)):
			return Config{}, &SetError{pair.Name, errAtStart}
		case p.isProtected(c):
			return Config{}, &SetError{pair.Name, errProtected}
		case slices.Contains(rows[:i], p):
			return Config{}, &SetError{pair.Name, errDuplicate}
		}
		rows[i] = p
	}
	changed := *c
	changed.WithoutEffect = maps.Clone(c.WithoutEffect)
	for i, p := range rows {
		err := p.set(&changed, []string{pairs[i].Value})
		if err != nil && !errors.Is(err, errWithoutEffect) {
			return Config{}, &SetError{p.name, err}
		}
	}
	if len(changed.WithoutEffect) == 0 {
		changed.WithoutEffect = nil
	}
	if !changed.listens() && c.listens() {
		return Config{}, &SetError{blamed(rows, "port", "bind", "tls-port"), errNoListener}
	}
	return changed, nil
}

// isSetTo reports whether p has the value in c. Who writes back everything that
// CONFIG GET has shown, as Redis's own tests do, knows Redis's parameters that
// cannot be set, and not ours.
func (p *parameter) isSetTo(c *Config, value string) bool {
	scratch := *c
	return p.set(&scratch, []string{value}) == nil && p.get(&scratch) == p.get(c)
}

// isProtected reports whether Redis lets nobody change p, as files could be
// written somewhere else, unless enable-protected-configs says otherwise. Here
// no file is.
func (p *parameter) isProtected(c *Config) bool {
	if p.name != "dir" && p.name != "dbfilename" {
		return false
	}
	enabled := c.WithoutEffect["enable-protected-configs"]
	return !strings.EqualFold(enabled, "yes") && !strings.EqualFold(enabled, "local")
}

// blamed returns the first of the rows that has one of the names.
func blamed(rows []*parameter, names ...string) string {
	for _, p := range rows {
		if slices.Contains(names, p.name) {
			return p.name
		}
	}
	return names[0]
}
