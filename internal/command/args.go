package command

import "strings"

// An arg describes one argument of a command for COMMAND DOCS and for the
// README. The kinds are Redis's.
type arg struct {
	name     string
	kind     argKind
	token    string // the word that introduces it
	since    string // if later than the command's
	optional bool
	multiple bool
	// multipleToken: the token is repeated as well.
	multipleToken bool
	args          []arg // of a oneOf or a block
}

type argKind string

const (
	kindString  argKind = "string"
	kindKey     argKind = "key"
	kindInteger argKind = "integer"
	kindPattern argKind = "pattern"
	kindToken   argKind = "pure-token" // the token alone
	kindOneOf   argKind = "oneof"      // one of args
	kindBlock   argKind = "block"      // all of args
)

func (a *arg) nested() bool { return a.kind == kindOneOf || a.kind == kindBlock }

func (a *arg) flags() []string {
	var names []string
	if a.optional {
		names = append(names, "optional")
	}
	if a.multiple {
		names = append(names, "multiple")
	}
	if a.multipleToken {
		names = append(names, "multiple_token")
	}
	return names
}

// syntax renders the argument the way Redis's documentation does:
// "[pattern]", "channel [channel ...]", "<ON | OFF>".
func (a *arg) syntax() string {
	var s string
	switch a.kind {
	case kindToken:
		s = a.token
	case kindOneOf:
		s = joinSyntax(a.args, " | ")
		if !a.optional || a.token != "" {
			s = "<" + s + ">"
		}
	case kindBlock:
		s = joinSyntax(a.args, " ")
	default:
		s = a.name
	}
	introduce := func() {
		if a.token != "" && a.kind != kindToken {
			s = a.token + " " + s
		}
	}
	if a.multipleToken {
		introduce()
	}
	if a.multiple {
		s += " [" + s + " ...]"
	}
	if !a.multipleToken {
		introduce()
	}
	if a.optional {
		s = "[" + s + "]"
	}
	return s
}

func joinSyntax(args []arg, sep string) string {
	parts := make([]string, len(args))
	for i := range args {
		parts[i] = args[i].syntax()
	}
	return strings.Join(parts, sep)
}

// syntax renders the whole command: "PUBSUB NUMSUB [channel [channel ...]]".
func (c *command) syntax() string {
	s := strings.ToUpper(strings.ReplaceAll(c.fullName, "|", " "))
	if len(c.args) > 0 {
		s += " " + joinSyntax(c.args, " ")
	}
	return s
}
