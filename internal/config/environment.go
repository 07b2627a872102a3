package config

import (
	"fmt"
	"regexp"
	"strings"
)

// envPrefix begins the name of every environment variable that is looked at.
const envPrefix = "BROKER_"

// applyEnv sets the parameters that env names, which has the form of
// os.Environ. A variable with the prefix that names no parameter is an error:
// silence would hide a misspelt limit.
func applyEnv(to *loader, env []string) error {
	for _, entry := range env {
		variable, value, ok := strings.Cut(entry, "=")
		if !ok || !strings.HasPrefix(variable, envPrefix) || variable == defaultsVariable || isServiceLink(variable, value) {
			continue
		}
		p := parameterOf(to.rows, variable)
		if p == nil {
			return unknownVariable(to.rows, variable)
		}
		if err := to.set(p, []string{value}, variable); err != nil {
			return fmt.Errorf("%s %s: %w", variable, p.shown([]string{value}), err)
		}
	}
	return nil
}

// variableName returns the environment variable for a parameter.
func variableName(parameter string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(parameter, "-", "_"))
}

// parameterOf returns the row that a variable names, or nil.
func parameterOf(rows []parameter, variable string) *parameter {
	for i := range rows {
		if variableName(rows[i].name) == variable {
			return &rows[i]
		}
	}
	return nil
}

func unknownVariable(rows []parameter, variable string) error {
	name := strings.ReplaceAll(strings.TrimPrefix(variable, envPrefix), "_", "-")
	if s := suggestion(rows, name); s != "" {
		return fmt.Errorf("unknown environment variable %s, did you mean %s?", printable(variable), variableName(s))
	}
	return fmt.Errorf("unknown environment variable %s, see --help", printable(variable))
}

// isServiceLink reports whether Kubernetes or Docker made the variable up:
// for a service whose name begins with "broker" they put its addresses into
// the environment of every container, BROKER_PORT=tcp://10.0.0.7:6379 among
// them. Such a variable was not written for this program.
func isServiceLink(variable, value string) bool {
	if serviceURL.MatchString(value) {
		return strings.HasSuffix(variable, "_PORT") || servicePort.MatchString(variable)
	}
	return serviceName.MatchString(variable)
}

var (
	serviceURL  = regexp.MustCompile(`^(tcp|udp|sctp)://`)
	servicePort = regexp.MustCompile(`_PORT_[0-9]+_(TCP|UDP|SCTP)$`)
	serviceName = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_[0-9]+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)$`)
)
