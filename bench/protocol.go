package main

import (
	"fmt"
	"strconv"
)

// A protocol knows the bytes one family of servers reads and writes. Its
// append functions add to dst and return it; the caller owns the result.
//
// The generator counts lines to know when a batch is answered and bytes to
// know that it was answered rightly, so a protocol also tells how many of each
// the server owes.
type protocol interface {
	// greeting returns what a new connection must first read (a number of
	// lines, zero for nothing) and then write, and the lines that answer it.
	greeting() (readLines int, write string, answerLines int)

	appendPublish(dst []byte, channel string, payload []byte) []byte
	// appendSubscribe subscribes to names, as patterns if pattern is set, and
	// returns the number of lines that acknowledge it.
	appendSubscribe(dst []byte, pattern bool, names []string) (out []byte, ackLines int)
	// appendPair subscribes to channel and unsubscribes from it again.
	appendPair(dst []byte, channel string) []byte
	// endBatch adds what makes the server answer a batch, if its commands do not.
	endBatch(dst []byte) []byte

	// publishReplies returns the lines and bytes that answer a batch of
	// publishes that each reached receivers subscriptions; pairReplies those
	// that answer a batch of pairs on a connection that holds held other
	// subscriptions.
	publishReplies(pipeline, receivers int) (lines int, bytes int64)
	pairReplies(pipeline int, channel string, held int) (lines int, bytes int64)

	// messageBytes returns the length of one delivered message; pattern is
	// empty for a subscriber of the channel itself.
	messageBytes(pattern, channel string, payloadBytes int) int64

	// exact reports whether the server sends nothing but what it owes, so that
	// totals can be compared to the byte.
	exact() bool
}

// resp is RESP2 as Redis speaks it.
type resp struct{}

func (resp) greeting() (int, string, int) { return 0, "", 0 }

// appendCommand appends an array of bulk strings.
func appendCommand(dst []byte, args ...string) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(args)), 10)
	dst = append(dst, '\r', '\n')
	for _, a := range args {
		dst = append(dst, '$')
		dst = strconv.AppendInt(dst, int64(len(a)), 10)
		dst = append(dst, '\r', '\n')
		dst = append(dst, a...)
		dst = append(dst, '\r', '\n')
	}
	return dst
}

func (resp) appendPublish(dst []byte, channel string, payload []byte) []byte {
	return appendCommand(dst, "PUBLISH", channel, string(payload))
}

// ackLinesPerName is the number of lines in a RESP2 subscribe ack: an array
// header, two bulk strings of two lines each, and an integer.
const ackLinesPerName = 6

func (resp) appendSubscribe(dst []byte, pattern bool, names []string) ([]byte, int) {
	verb := "SUBSCRIBE"
	if pattern {
		verb = "PSUBSCRIBE"
	}
	return appendCommand(dst, append([]string{verb}, names...)...), len(names) * ackLinesPerName
}

func (resp) appendPair(dst []byte, channel string) []byte {
	dst = appendCommand(dst, "SUBSCRIBE", channel)
	return appendCommand(dst, "UNSUBSCRIBE", channel)
}

func (resp) endBatch(dst []byte) []byte { return dst }

func (resp) publishReplies(pipeline, receivers int) (int, int64) {
	reply := fmt.Sprintf(":%d\r\n", receivers)
	return pipeline, int64(pipeline) * int64(len(reply))
}

func (resp) pairReplies(pipeline int, channel string, held int) (int, int64) {
	ack := func(kind string, count int) int {
		return len(appendCommand([]byte{}, kind, channel)) + len(fmt.Sprintf(":%d\r\n", count))
	}
	one := ack("subscribe", held+1) + ack("unsubscribe", held)
	return pipeline * 2 * ackLinesPerName, int64(pipeline) * int64(one)
}

func (resp) messageBytes(pattern, channel string, payloadBytes int) int64 {
	if pattern == "" {
		return int64(len(appendCommand(nil, "message", channel, ""))) + bulkGrowth(payloadBytes)
	}
	return int64(len(appendCommand(nil, "pmessage", pattern, channel, ""))) + bulkGrowth(payloadBytes)
}

// bulkGrowth returns by how much a bulk string of n bytes is longer than an
// empty one.
func bulkGrowth(n int) int64 { return int64(n) + int64(len(strconv.Itoa(n))) - 1 }

func (resp) exact() bool { return true }

// nats is the NATS client protocol. PUB and SUB are not answered, so a PING
// ends each batch and its PONG is the answer: a pipelined batch costs such a
// server one reply where RESP costs one per command.
type nats struct{}

func (nats) greeting() (int, string, int) {
	return 1, `CONNECT {"verbose":false,"pedantic":false,"name":"bench","lang":"go","version":"1","protocol":0}` + "\r\nPING\r\n", 1
}

func (nats) appendPublish(dst []byte, channel string, payload []byte) []byte {
	dst = fmt.Appendf(dst, "PUB %s %d\r\n", channel, len(payload))
	dst = append(dst, payload...)
	return append(dst, '\r', '\n')
}

func (n nats) appendSubscribe(dst []byte, _ bool, names []string) ([]byte, int) {
	for _, name := range names {
		dst = fmt.Appendf(dst, "SUB %s 1\r\n", name)
	}
	return n.endBatch(dst), 1
}

func (nats) appendPair(dst []byte, channel string) []byte {
	return fmt.Appendf(dst, "SUB %s 7\r\nUNSUB 7\r\n", channel)
}

func (nats) endBatch(dst []byte) []byte { return append(dst, "PING\r\n"...) }

const pongBytes = int64(len("PONG\r\n"))

func (nats) publishReplies(int, int) (int, int64) { return 1, pongBytes }

func (nats) pairReplies(int, string, int) (int, int64) { return 1, pongBytes }

func (nats) messageBytes(_, channel string, payloadBytes int) int64 {
	header := fmt.Sprintf("MSG %s 1 %d\r\n", channel, payloadBytes)
	return int64(len(header)) + int64(payloadBytes) + 2
}

// exact is false: the server pings its clients when it likes.
func (nats) exact() bool { return false }

// A template is one encoded command whose channel number can be changed in
// place: fixed-width digits stand at each of the offsets in digits.
type template struct {
	command []byte
	digits  []int
}

// newTemplate returns the template of command, in which channel, a name that
// ends in channelDigits digits, occurs one or more times.
func newTemplate(command []byte, channel string) template {
	t := template{command: command}
	for at := 0; at+len(channel) <= len(command); at++ {
		if string(command[at:at+len(channel)]) == channel {
			t.digits = append(t.digits, at+len(channel)-channelDigits)
			at += len(channel) - 1
		}
	}
	if len(t.digits) == 0 {
		panic("bench: the template does not contain its channel")
	}
	return t
}

// appendTo appends the command with the channel number n, 0 <= n < maxChannels.
func (t *template) appendTo(dst []byte, n int) []byte {
	start := len(dst)
	dst = append(dst, t.command...)
	for _, at := range t.digits {
		field := dst[start+at : start+at+channelDigits]
		for i, v := channelDigits-1, n; i >= 0; i-- {
			field[i] = byte('0' + v%10)
			v /= 10
		}
	}
	return dst
}
