package command

import (
	"fmt"
	"strings"
)

// The error texts of this layer, without the leading '-'. Clients match them,
// so they are Redis's byte for byte. Line breaks in what is echoed from a
// client become blanks in resp.Writer.Error.
const (
	errSyntax          = "ERR syntax error"
	errNotInteger      = "ERR value is not an integer or out of range"
	errIntRange        = "ERR value is out of range, value must between -2147483648 and 2147483647"
	errDBIndex         = "ERR DB index is out of range"
	errProtoNotInteger = "ERR Protocol version is not an integer or out of range"
	errNoProto         = "NOPROTO unsupported protocol version"
	errWrongPass       = "WRONGPASS invalid username-password pair or user is disabled."
	errNoAuth          = "NOAUTH Authentication required."
	errHelloNoAuth     = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errNoPassword      = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	errPasswordBits    = "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096"
	errNoACLFile       = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."
	errACLSave         = "ERR There was an error trying to save the ACLs. Please check the server logs for more information"
	errClientName      = "ERR Client names cannot contain spaces, newlines or special characters."
	errClientID        = "ERR Invalid client ID"
	errNoKeys          = "ERR The command has no key arguments"
	errInvalidCommand  = "ERR Invalid command specified"
	errInvalidArity    = "ERR Invalid number of arguments specified for command"
	errTimeout         = "ERR timeout is not an integer or out of range"
	errTimeoutNegative = "ERR timeout is negative"
	errCursor          = "ERR invalid cursor"
	errCrossSlot       = "CROSSSLOT Keys in request don't hash to the same slot"
	errSlot            = "ERR Invalid slot"
	errClusterSelect   = "ERR SELECT is not allowed in cluster mode"
	errNoCluster       = "ERR This instance has cluster support disabled"
	errNoConfigFile    = "ERR The server is running without a config file"
	errFlushMode       = "ERR FUNCTION FLUSH only supports SYNC|ASYNC option"

	errStreamID    = "ERR Invalid stream ID specified as stream command argument"
	errStreamStart = "ERR invalid start ID for the interval"
	errStreamEnd   = "ERR invalid end ID for the interval"

	errKeysNegative = "ERR Number of keys can't be negative"
	errKeysTooMany  = "ERR Number of keys can't be greater than number of args"
	errNoScript     = "NOSCRIPT No matching script. Please use EVAL."

	errNotInMulti     = "ERR Command not allowed inside a transaction"
	errNestedMulti    = "ERR MULTI calls can not be nested"
	errWatchInMulti   = "ERR WATCH inside MULTI is not allowed"
	errNoMultiExec    = "ERR EXEC without MULTI"
	errNoMultiDiscard = "ERR DISCARD without MULTI"
	errExecAbort      = "EXECABORT Transaction discarded because of previous errors."
	errSlowlogCount   = "ERR count should be greater than or equal to -1"
	errNoShutdown     = "ERR No shutdown in progress."
	errListCount      = "ERR COUNT must be between 1 and 100000"
	errSlowLimit      = "ERR LIMIT must be a number of bytes between 1 and 1099511627776"
	errPauseMode      = "ERR CLIENT PAUSE mode must be WRITE or ALL"

	errKillID         = "ERR client-id should be greater than 0"
	errKillMaxAge     = "ERR maxage is not an integer or out of range"
	errKillMaxAgeZero = "ERR maxage should be greater than 0"
	errNoSuchClient   = "ERR No such client"
	errUnblockReason  = "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"

	// These two have no counterpart in Redis, which has no such limits.
	errTooManySubscriptions = "ERR max number of subscriptions per client reached"
	errLongPattern          = "ERR pattern is longer than max-pattern-length"

	// errManyGuesses has no counterpart in Redis either: it is the answer to a
	// password that is not looked at.
	errManyGuesses = "ERR too many failed logins from this address, try again later"

	// errTooManyNames has no counterpart in Redis, which lets one command ask
	// for any number of descriptions.
	errTooManyNames = "ERR too many arguments, at most 4096 are accepted here"
)

// maxNames bounds how many names one command may ask to have described or
// listed: an answer can be hundreds of times longer than the question.
const maxNames = 4096

// echoBytes is where Redis cuts a word of the client's in an error text.
const echoBytes = 128

// echo returns b fit for an error text: cut at a NUL and at 128 bytes.
func echo(b []byte) string {
	b = cString(b)
	return string(b[:min(len(b), echoBytes)])
}

// echoWhole returns b fit for an error text where Redis does not cut it at a
// length. It is cut at maxEchoBytes nevertheless: an error must not be as
// long as the longest argument.
func echoWhole(b []byte) string {
	b = cString(b)
	return string(b[:min(len(b), maxEchoBytes)])
}

const maxEchoBytes = 4096

// unknownCommand names the command as typed and begins to list its arguments,
// until the list is 128 bytes long.
func unknownCommand(args [][]byte) string {
	var list strings.Builder
	for _, a := range args[1:] {
		room := echoBytes - list.Len()
		if room <= 0 {
			break
		}
		a = cString(a)
		list.WriteByte('\'')
		list.Write(a[:min(len(a), room)])
		list.WriteString("' ")
	}
	return fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", echo(args[0]), list.String())
}

func unknownSubcommand(container *command, word []byte) string {
	return fmt.Sprintf("ERR unknown subcommand '%s'. Try %s HELP.", echo(word), strings.ToUpper(container.name))
}

// unknownOrArity is what subcommands with an optional last argument answer to
// one argument more.
func unknownOrArity(container *command, word []byte) string {
	return fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try %s HELP.",
		echo(word), strings.ToUpper(container.name))
}

func wrongArity(c *command) string {
	return "ERR wrong number of arguments for '" + c.fullName + "' command"
}

// notInSubscriberMode is the answer to everything that a RESP2 client with
// subscriptions must not send.
func notInSubscriberMode(c *command) string {
	return "ERR Can't execute '" + c.fullName + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
}

// unknownParameter is the answer to CONFIG SET of a name that is none.
func unknownParameter(name string) string {
	return fmt.Sprintf("ERR Unknown option or number of arguments for CONFIG SET - '%s'", echo([]byte(name)))
}
