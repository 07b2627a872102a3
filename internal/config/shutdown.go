package config

import (
	"slices"
	"strings"
)

const (
	errShutdownOption = redisError("argument(s) must be one of the following: default, save, nosave, now, force")
	errSaveAndNosave  = redisError("shutdown options SAVE and NOSAVE can't be used simultaneously")
)

// shutdownOptions is what a signal does in Redis beside ending the server, one
// word for each option. There is nothing to save and nothing to wait for.
func shutdownOptions(name string) parameter {
	const none = "default"
	p := idle(name, none)
	p.many = true
	p.parse = func(c *Config, values []string) error {
		if len(values) == 0 {
			return errArgCount
		}
		text, err := canonicalShutdown(strings.Fields(strings.Join(values, " ")))
		switch {
		case err != nil:
			return err
		case text == "":
			delete(c.WithoutEffect, name)
			return nil
		}
		return keep(c, name, text)
	}
	return p
}

// canonicalShutdown returns the options in Redis's order, each once.
func canonicalShutdown(values []string) (string, error) {
	if len(values) == 0 {
		return "", errShutdownOption
	}
	order := []string{"save", "nosave", "now", "force"}
	var given [4]bool
	for _, v := range values {
		v = strings.ToLower(v)
		switch i := slices.Index(order, v); {
		case i >= 0:
			given[i] = true
		case v != "default":
			return "", errShutdownOption
		}
	}
	if given[0] && given[1] {
		return "", errSaveAndNosave
	}
	var words []string
	for i, ok := range given {
		if ok {
			words = append(words, order[i])
		}
	}
	return strings.Join(words, " "), nil
}
