// Scripts. None is run; one that a framework sends in the place of PUBLISH is
// known and done without an interpreter.
//
// redis.io/docs/latest/commands/?group=scripting

package command

import "broker/channelstore"

// publishScript is the script that Laravel's broadcasting sends: it publishes
// its first argument to the channels that the others name. Runs of white space
// count as one blank.
const publishScript = "for i = 2, #ARGV do redis.call('publish', ARGV[i], ARGV[1]) end"

// errNoScripts answers any other script.
const errNoScripts = "ERR scripts are not supported here, except this one: " + publishScript

// shaBytes is the length of a script's digest.
const shaBytes = 40

func scriptingCommands() []*command {
	const flags = flagNoScript | flagStale | flagSkipMonitor | flagNoMandatoryKeys | flagMovableKeys
	counted := keySpec{first: 2, counted: true, flags: anyUse}
	arguments := []arg{
		{name: "numkeys", kind: kindInteger},
		{name: "key", kind: kindKey, optional: true, multiple: true},
		{name: "arg", kind: kindString, optional: true, multiple: true},
	}
	return []*command{
		{
			name: "eval", arity: -3, flags: flags, categories: categoryScripting, keys: counted,
			group: "scripting", since: "2.6.0", complexity: "O(N) for N channels, and that of PUBLISH for each",
			summary: "Publishes a message to several channels, when the script is the one with which Laravel does; no other script is supported.",
			args:    append([]arg{{name: "script", kind: kindString}}, arguments...),
			run:     (*call).eval,
		},
		{
			name: "evalsha", arity: -3, flags: flags, categories: categoryScripting, keys: counted,
			group: "scripting", since: "2.6.0", complexity: "O(1)",
			summary: "Answers that no script is known by its digest, upon which clients send EVAL.",
			args:    append([]arg{{name: "sha1", kind: kindString}}, arguments...),
			run:     (*call).evalSHA,
		},
		functionContainer(),
	}
}

func functionContainer() *command {
	return &command{
		name: "function", arity: -2,
		group: "scripting", since: "7.0.0", complexity: "that of the subcommand",
		summary: "Removes functions, of which there are none.",
		subs: []*command{
			{
				name: "flush", arity: -2, flags: flagWrite | flagNoScript, categories: categoryScripting,
				tips:  []string{"request_policy:all_shards", "response_policy:all_succeeded"},
				since: "7.0.0", complexity: "O(1)",
				summary: "Accepts to remove all functions; there are none.",
				args:    flushMode,
				help: []string{
					"FLUSH [ASYNC|SYNC]",
					"    Delete all the libraries.",
				},
				run: (*call).functionFlush,
			},
			helpCommand("7.0.0", categoryScripting),
		},
	}
}

func (c *call) functionFlush() {
	switch {
	case len(c.args) > 3:
		c.fail(unknownOrArity(c.cmd.parent, c.args[1]))
	case len(c.args) == 3 && !isFlushMode(c.args[2]):
		c.fail(errFlushMode)
	default:
		c.reply().OK()
	}
}

// checkKeyCount checks the number of keys that EVAL and EVALSHA begin with,
// and returns the arguments behind the keys. It answers with an error, and
// reports false, when the number is none.
func (c *call) checkKeyCount() (args [][]byte, ok bool) {
	rest := c.args[3:]
	switch n, isInt := parseInt(c.args[2]); {
	case !isInt:
		c.fail(errNotInteger)
	case n > int64(len(rest)):
		c.fail(errKeysTooMany)
	case n < 0:
		c.fail(errKeysNegative)
	default:
		return rest[n:], true
	}
	return nil, false
}

func (c *call) eval() {
	args, ok := c.checkKeyCount()
	switch {
	case !ok:
		return
	case !isScript(c.args[1], publishScript):
		c.fail(errNoScripts)
		return
	case len(args) > 1+maxNames:
		c.fail(errTooManyNames)
		return
	}
	if len(args) > 1 {
		for _, channel := range args[1:] {
			c.session.Publish(channelstore.Channels, channel, args[0])
		}
	}
	c.reply().Null()
}

func (c *call) evalSHA() {
	if len(c.args[1]) == shaBytes {
		if _, ok := c.checkKeyCount(); !ok {
			return
		}
	}
	c.fail(errNoScript)
}

// isScript reports whether text is script when runs of white space count as
// one blank and those at the ends as nothing.
func isScript(text []byte, script string) bool {
	next := 0 // in script
	blank := false
	for _, b := range text {
		if b == ' ' || '\t' <= b && b <= '\r' {
			blank = next > 0
			continue
		}
		if blank {
			if next == len(script) || script[next] != ' ' {
				return false
			}
			next++
			blank = false
		}
		if next == len(script) || script[next] != b {
			return false
		}
		next++
	}
	return next == len(script)
}
