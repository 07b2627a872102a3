package config

import (
	"crypto/tls"
	"errors"
	"strings"
)

// A TLSAuth says whether clients present a certificate.
type TLSAuth string

const (
	// TLSAuthNo asks for none.
	TLSAuthNo TLSAuth = "no"
	// TLSAuthYes accepts only clients with a certificate that can be verified.
	TLSAuthYes TLSAuth = "yes"
	// TLSAuthOptional verifies a certificate if there is one.
	TLSAuthOptional TLSAuth = "optional"
)

var (
	errTLSVersion    = errors.New("Invalid tls-protocols specified. Use a combination of 'TLSv1.2' and 'TLSv1.3'.")
	errTLSOldVersion = errors.New("TLS before 1.2 is not spoken. Use a combination of 'TLSv1.2' and 'TLSv1.3'.")
)

// TLSVersions returns the lowest and the highest version of TLS that
// TLSProtocols allows, in the numbers of crypto/tls. c must be valid.
func (c *Config) TLSVersions() (lo, hi uint16) {
	lo, hi, err := tlsVersions(c.TLSProtocols)
	if err != nil {
		panic("config: " + err.Error()) // which Validate refuses
	}
	return lo, hi
}

// tlsVersions reads names of versions in any case, separated by blanks. None
// stands for all that are spoken.
func tlsVersions(protocols string) (lo, hi uint16, err error) {
	lo, hi = tls.VersionTLS13, tls.VersionTLS12
	words := strings.Fields(protocols)
	if len(words) == 0 {
		return tls.VersionTLS12, tls.VersionTLS13, nil
	}
	for _, word := range words {
		switch strings.ToLower(word) {
		case "tlsv1.2":
			lo = tls.VersionTLS12
		case "tlsv1.3":
			hi = tls.VersionTLS13
		case "tlsv1", "tlsv1.0", "tlsv1.1", "sslv3":
			return 0, 0, errTLSOldVersion
		default:
			return 0, 0, errTLSVersion
		}
	}
	return lo, hi, nil
}

// tlsProtocols is a list of versions of TLS, kept as it was written.
func tlsProtocols(name, doc, def string, field func(*Config) *string) parameter {
	return parameter{
		name: name, args: "VERSION ...", doc: doc, def: def,
		parse: func(c *Config, values []string) error {
			_, _, err := tlsVersions(values[0])
			if err == nil {
				*field(c) = values[0]
			}
			return err
		},
		get: func(c *Config) string { return *field(c) },
		check: func(c *Config) error {
			_, _, err := tlsVersions(*field(c))
			return err
		},
	}
}
