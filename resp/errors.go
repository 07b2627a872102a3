package resp

// A ProtocolError says why bytes from the wire are no command. Its text is
// what Redis sends after "-ERR ", byte for byte; the connection that caused it
// is answered and then closed, because the boundary of the next command is
// lost.
type ProtocolError string

// Error returns the text without the leading "-ERR ".
func (e ProtocolError) Error() string { return string(e) }

// The errors are kept as values of the interface: a conversion on the way out
// would allocate for each of a flood of bad requests.
var (
	errMultibulkLength   error = ProtocolError("Protocol error: invalid multibulk length")
	errBulkLength        error = ProtocolError("Protocol error: invalid bulk length")
	errMultibulkLine     error = ProtocolError("Protocol error: too big mbulk count string")
	errBulkLine          error = ProtocolError("Protocol error: too big bulk count string")
	errInlineLine        error = ProtocolError("Protocol error: too big inline request")
	errQuotes            error = ProtocolError("Protocol error: unbalanced quotes in request")
	errLoginMultibulk    error = ProtocolError("Protocol error: unauthenticated multibulk length")
	errLoginBulk         error = ProtocolError("Protocol error: unauthenticated bulk length")
	expectedDollarPrefix       = "Protocol error: expected '$', got '"
)

// errExpectedDollar names the byte that stands where an argument should begin.
// A line break would end the error line early; like Redis it becomes a blank.
func errExpectedDollar(got byte) error {
	if got == '\r' || got == '\n' {
		got = ' '
	}
	b := append(make([]byte, 0, len(expectedDollarPrefix)+2), expectedDollarPrefix...)
	return ProtocolError(append(b, got, '\''))
}
