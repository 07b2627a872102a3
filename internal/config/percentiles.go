package config

import (
	"math"
	"strconv"
	"strings"
)

// maxPercentiles bounds what INFO shows for each command.
const maxPercentiles = 64

const (
	errNotPercentile   = redisError("Invalid latency-tracking-info-percentiles parameters")
	errPercentileRange = redisError("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
)

// percentiles is a list of numbers from 0 to 100, which may be empty.
func percentiles(name, doc, def string, field func(*Config) *[]float64) parameter {
	check := func(list []float64) error {
		if len(list) > maxPercentiles {
			return errNotPercentile
		}
		for _, p := range list {
			switch {
			case math.IsNaN(p):
				return errNotPercentile
			case p < 0 || p > 100:
				return errPercentileRange
			}
		}
		return nil
	}
	return parameter{
		name: name, args: "N ...", doc: doc, def: def, many: true,
		parse: func(c *Config, values []string) error {
			list, err := parsePercentiles(values)
			if err == nil {
				err = check(list)
			}
			if err == nil {
				*field(c) = list
			}
			return err
		},
		get: func(c *Config) string {
			words := make([]string, len(*field(c)))
			for i, p := range *field(c) {
				words[i] = strconv.FormatFloat(p, 'f', -1, 64)
			}
			return strings.Join(words, " ")
		},
		check: func(c *Config) error { return check(*field(c)) },
	}
}

// parsePercentiles keeps six decimals of each number, which is what Redis
// shows of them.
func parsePercentiles(values []string) ([]float64, error) {
	const decimals = 1e6
	if len(values) > maxPercentiles {
		return nil, errNotPercentile
	}
	list := make([]float64, len(values))
	for i, v := range values {
		p, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return nil, errNotPercentile
		}
		if p >= 0 && p <= 100 {
			p = math.Abs(math.Round(p*decimals) / decimals) // no -0
		}
		list[i] = p
	}
	return list, nil
}
