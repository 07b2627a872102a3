package resp

import "strconv"

// Kind says which of the two namespaces of exact names a message came through.
type Kind uint8

// The kinds of message.
const (
	Message      Kind = iota // PUBLISH: the verb is message
	ShardMessage             // SPUBLISH: the verb is smessage
)

// The head of a frame up to the length of its first variable part.
const (
	messageHead      = "*3\r\n$7\r\nmessage\r\n$"
	shardMessageHead = "*3\r\n$8\r\nsmessage\r\n$"
	patternHead      = "*4\r\n$8\r\npmessage\r\n$"
)

func (k Kind) head() string {
	if k == ShardMessage {
		return shardMessageHead
	}
	return messageHead
}

// AppendMessage appends the RESP2 frame of a message to the exact subscribers
// of channel. With MessageSize bytes of room in dst it does not allocate. The
// frame holds no reference to channel or payload.
func AppendMessage(dst []byte, kind Kind, channel, payload []byte) []byte {
	dst = AppendMessageHead(dst, kind, channel, len(payload))
	dst = append(dst, payload...)
	return append(dst, '\r', '\n')
}

// AppendMessageHead appends AppendMessage's frame up to the end of the line
// that gives the payload's length. The payload and a CRLF must follow, from
// other memory: a large payload is then shared by the frames of all patterns
// and of both protocols.
func AppendMessageHead(dst []byte, kind Kind, channel []byte, payloadBytes int) []byte {
	dst = append(dst, kind.head()...)
	dst = appendLength(dst, len(channel))
	dst = append(dst, channel...)
	dst = append(dst, '\r', '\n', '$')
	return appendLength(dst, payloadBytes)
}

// AppendPatternMessage appends the RESP2 frame of a message to the subscribers
// of pattern. With PatternMessageSize bytes of room in dst it does not
// allocate.
func AppendPatternMessage(dst []byte, pattern string, channel, payload []byte) []byte {
	dst = AppendPatternMessageHead(dst, pattern, channel, len(payload))
	dst = append(dst, payload...)
	return append(dst, '\r', '\n')
}

// AppendPatternMessageHead is AppendMessageHead for a pattern.
func AppendPatternMessageHead(dst []byte, pattern string, channel []byte, payloadBytes int) []byte {
	dst = append(dst, patternHead...)
	dst = appendLength(dst, len(pattern))
	dst = append(dst, pattern...)
	dst = append(dst, '\r', '\n', '$')
	dst = appendLength(dst, len(channel))
	dst = append(dst, channel...)
	dst = append(dst, '\r', '\n', '$')
	return appendLength(dst, payloadBytes)
}

// PatternMessageChannel returns the channel of a frame, or of the head of a
// frame, that AppendPatternMessage or AppendPatternMessageHead made; a view.
func PatternMessageChannel(frame []byte) []byte {
	rest := frame[len(patternHead):]
	_, rest = cutBulk(rest)
	channel, _ := cutBulk(rest[1:]) // behind its '$'
	return channel
}

// cutBulk cuts a bulk string off, of which the '$' is already gone.
func cutBulk(b []byte) (bulk, rest []byte) {
	n, i := 0, 0
	for ; b[i] != '\r'; i++ {
		n = 10*n + int(b[i]-'0')
	}
	i += 2
	return b[i : i+n], b[i+n+2:]
}

// MessageSize returns the length in bytes of the frame AppendMessage appends,
// given the lengths of its parts. It is the same in both protocols.
func MessageSize(kind Kind, channelBytes, payloadBytes int) int {
	return len(kind.head()) + bulkSize(channelBytes) + bulkSize(payloadBytes) - 1
}

// PatternMessageSize is MessageSize for AppendPatternMessage.
func PatternMessageSize(patternBytes, channelBytes, payloadBytes int) int {
	return len(patternHead) + bulkSize(patternBytes) + bulkSize(channelBytes) + bulkSize(payloadBytes) - 1
}

// ToRESP3 turns RESP2 message frames into RESP3 ones in place, given the offset
// at which each begins: an array becomes push data, which changes its first
// byte and nothing else. frames must not be shared with anyone yet.
func ToRESP3(frames []byte, starts []uint32) {
	for _, start := range starts {
		frames[start] = '>'
	}
}

// AppendAck appends the answer to one name of a (un)subscribe command. verb is
// the command's name in lower case; name is the channel or pattern, nil (not
// empty, which is a legal name) for an unsubscribe that found none to name;
// count is how many subscriptions of the session remain.
func AppendAck(dst []byte, proto Proto, verb string, name []byte, count int) []byte {
	dst = appendAckVerb(dst, proto, verb)
	if name == nil {
		dst = appendNull(dst, proto)
	} else {
		dst = appendHead(dst, '$', len(name))
		dst = append(dst, name...)
		dst = append(dst, '\r', '\n')
	}
	return appendHead(dst, ':', count)
}

// AppendAckString is AppendAck for a name that is held as a string.
func AppendAckString(dst []byte, proto Proto, verb, name string, count int) []byte {
	dst = appendAckVerb(dst, proto, verb)
	dst = appendHead(dst, '$', len(name))
	dst = append(dst, name...)
	dst = append(dst, '\r', '\n')
	return appendHead(dst, ':', count)
}

func appendAckVerb(dst []byte, proto Proto, verb string) []byte {
	kind := byte('*')
	if proto == RESP3 {
		kind = '>'
	}
	dst = append(dst, kind, '3', '\r', '\n')
	dst = appendHead(dst, '$', len(verb))
	dst = append(dst, verb...)
	return append(dst, '\r', '\n')
}

// appendHead appends the line that begins a value: its type and a number.
func appendHead(dst []byte, kind byte, n int) []byte {
	return appendLength(append(dst, kind), n)
}

// appendLength appends a number and the line's end. strconv alone is good at
// two digits; a frame has up to three lengths and most are of one or three.
func appendLength(dst []byte, n int) []byte {
	switch {
	case uint(n) < 10:
		return append(dst, byte('0'+n), '\r', '\n')
	case uint(n) < 100:
		return append(dst, byte('0'+n/10), byte('0'+n%10), '\r', '\n')
	case uint(n) < 1000:
		return append(dst, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10), '\r', '\n')
	}
	return append(strconv.AppendInt(dst, int64(n), 10), '\r', '\n')
}

// bulkSize returns the length of a bulk string of n bytes on the wire.
func bulkSize(n int) int {
	digits := 1
	for m := n; m >= 10; m /= 10 {
		digits++
	}
	return 1 + digits + 2 + n + 2
}
