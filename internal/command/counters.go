package command

import (
	"strings"

	"broker/internal/acl"
	"broker/shard"
)

// counters are the statistics of one loop. They are plain numbers that only
// that loop touches; INFO gathers copies of them.
type counters struct {
	commands                       []commandCounters // by command.number
	histograms                     []*histogram      // likewise; nil: nothing was timed yet
	errors                         []errorCount      // by the first word of the text
	errorReplies                   int64
	authFailures                   int64 // passwords that were wrong
	deniedCommands, deniedChannels int64 // refused, because the user may not
	httpRequests                   int64 // connections closed because they spoke HTTP

	// base are the loop's own counters when CONFIG RESETSTAT was last run.
	base shard.Stats
}

type commandCounters struct {
	calls    int64 // executed
	rejected int64 // refused before execution
	failed   int64 // executed and answered with an error
	nanos    int64
}

type errorCount struct {
	prefix string
	n      int64
}

// maxErrorPrefixes bounds the list of error prefixes; further ones are counted
// in errorReplies only. All prefixes are constants of this package, so the
// bound is a safeguard against an error text made of what a client sent.
const maxErrorPrefixes = 32

// errPrefix is the prefix of most errors.
const errPrefix = "ERR"

func newCounters(rows int) counters {
	return counters{commands: make([]commandCounters, rows)}
}

func (c *counters) failed(number int, text string) {
	c.commands[number].failed++
	c.countError(errorPrefix(text))
}

// countDenial counts what access control has refused.
func (c *counters) countDenial(reason acl.Reason) {
	switch reason {
	case acl.DeniedAuth:
		c.authFailures++
	case acl.DeniedCommand:
		c.deniedCommands++
	case acl.DeniedChannel:
		c.deniedChannels++
	}
}

// errorPrefix returns the first word of an error text.
func errorPrefix(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

func (c *counters) countError(prefix string) {
	c.errorReplies++
	for i := range c.errors {
		if c.errors[i].prefix == prefix {
			c.errors[i].n++
			return
		}
	}
	if len(c.errors) < maxErrorPrefixes {
		c.errors = append(c.errors, errorCount{strings.Clone(prefix), 1})
	}
}

// clone returns a copy for another goroutine, without the histograms.
func (c *counters) clone() counters {
	out := *c
	out.histograms = nil
	out.commands = append([]commandCounters(nil), c.commands...)
	out.errors = append([]errorCount(nil), c.errors...)
	return out
}

// add adds what another loop counted.
func (c *counters) add(o *counters) {
	for i := range o.commands {
		to, from := &c.commands[i], &o.commands[i]
		to.calls += from.calls
		to.rejected += from.rejected
		to.failed += from.failed
		to.nanos += from.nanos
	}
	for _, e := range o.errors {
		c.addErrors(e.prefix, e.n)
	}
	c.errorReplies += o.errorReplies
	c.authFailures += o.authFailures
	c.deniedCommands += o.deniedCommands
	c.deniedChannels += o.deniedChannels
	c.httpRequests += o.httpRequests
}

func (c *counters) addErrors(prefix string, n int64) {
	for i := range c.errors {
		if c.errors[i].prefix == prefix {
			c.errors[i].n += n
			return
		}
	}
	c.errors = append(c.errors, errorCount{prefix, n})
}

// calls returns the number of commands executed.
func (c *counters) calls() int64 {
	var n int64
	for i := range c.commands {
		n += c.commands[i].calls
	}
	return n
}
