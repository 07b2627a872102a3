package config

import (
	"errors"
	"net"
	"strconv"
	"strings"
)

// maxTopChannels bounds the series that channels add to the metrics.
const maxTopChannels = 100

var errAdminAddress = errors.New("argument must be a port or an address with a port, such as 9121, 127.0.0.1:9121 or *:9121")

// adminAddress is a port, an address with a port, or empty.
func adminAddress(name, doc, def string, field func(*Config) *string) parameter {
	p := text(name, "[HOST:]PORT", doc, def, field)
	p.parse = func(c *Config, values []string) error {
		if _, err := parseAdminAddress(values[0]); err != nil {
			return err
		}
		*field(c) = values[0]
		return nil
	}
	p.check = func(c *Config) error {
		_, err := parseAdminAddress(*field(c))
		return err
	}
	return p
}

// parseAdminAddress returns an address for net.Listen, "" for none.
func parseAdminAddress(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	host, port := "127.0.0.1", text
	if strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil || host == "" {
			return "", errAdminAddress
		}
	} else if port == "0" {
		return "", errAdminAddress // elsewhere it means no port
	}
	if host == "*" {
		host = ""
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 || strconv.Itoa(n) != port {
		return "", errAdminAddress
	}
	return net.JoinHostPort(host, port), nil
}

// AdminAddr returns the address of the HTTP listener in the form of
// net.Listen, "" for none. Port 0 is one that the kernel chooses.
func (c *Config) AdminAddr() string {
	addr, _ := parseAdminAddress(c.Admin) // Validate has looked at it
	return addr
}
