package config

import "fmt"

// defaultsVariable holds flags that stand in for the defaults of the table, for
// whoever packages the broker: in a container image it should be reachable
// from outside unless a file, the environment or flags say otherwise.
const defaultsVariable = envPrefix + "DEFAULTS"

// applyPackaged sets what the variable says. Its value is split as a line of a
// file is.
func applyPackaged(r *fileReader, env []string) error {
	words, err := splitArgs(variable(env, defaultsVariable))
	if err != nil {
		return fmt.Errorf("%s: %w", defaultsVariable, err)
	}
	for len(words) > 0 {
		var f cliFlag
		if f, words, err = nextFlag(words); err == nil {
			err = f.apply(r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", defaultsVariable, err)
		}
	}
	return nil
}

// variable returns the value of a variable, "" when it is not set.
func variable(env []string, name string) string {
	for _, entry := range env {
		if len(entry) > len(name) && entry[:len(name)] == name && entry[len(name)] == '=' {
			return entry[len(name)+1:]
		}
	}
	return ""
}
