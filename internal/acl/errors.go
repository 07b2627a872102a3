package acl

import "errors"

// Why a rule is refused. The texts are Redis's, which clients match, as far as
// Redis refuses the rule.
var (
	errUnknownName  = errors.New("Unknown command or category name in ACL")
	errSyntax       = errors.New("Syntax error")
	errAfterAllKeys = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any " +
		"effect. Try 'resetkeys' to start with an empty list of patterns")
	errAfterAllChannels = errors.New("Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any " +
		"effect. Try 'resetchannels' to start with an empty list of channels")
	errNoSuchPassword = errors.New("The password you are trying to remove from the user does not exist")
	errHash           = errors.New("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	errFirstArg       = errors.New("Allowing first-arg of a subcommand is not supported")

	errLongPattern   = errors.New("The pattern is longer than 4096 bytes")
	errManyCommands  = errors.New("Too many rules about commands, at most 1024 are kept for a selector")
	errManySelectors = errors.New("Too many selectors, at most 1024 are accepted here")
)

// Errors of methods of Store. The texts are Redis's replies, without "ERR ".
var (
	// ErrDefaultUser is returned for an attempt to delete the default user.
	ErrDefaultUser = errors.New("The 'default' user cannot be removed")

	// ErrUserName is returned for a name with a space or a NUL in it.
	ErrUserName = errors.New("Usernames can't contain spaces or null characters")
)

// A ruleError is what SetUser returns for a rule that is refused.
type ruleError struct {
	rule   string
	reason error
}

func (e *ruleError) Error() string {
	return "Error in ACL SETUSER modifier '" + cString(e.rule) + "': " + e.reason.Error()
}

func (e *ruleError) Unwrap() error { return e.reason }

// An unmatchedError is returned for a selector without its closing parenthesis.
type unmatchedError struct{ at string }

func (e *unmatchedError) Error() string {
	return "Unmatched parenthesis in acl selector starting at '" + cString(e.at) + "'."
}
