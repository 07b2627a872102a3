package cli

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// A format is how messages are written and read.
type format string

const (
	// formatLine is the payload and a line end. A payload with line ends in
	// it is several messages to whoever reads it.
	formatLine format = "line"

	// formatJSON is an object to a line.
	formatJSON format = "json"

	// formatRaw is payloads without anything between them. Output only.
	formatRaw format = "raw"
)

// Set makes a format the value of a flag.
func (f *format) Set(text string) error {
	switch format(text) {
	case formatLine, formatJSON, formatRaw:
		*f = format(text)
		return nil
	}
	return errors.New("must be line, json or raw")
}

func (f *format) String() string { return string(*f) }

// A message is one as JSON. What is not UTF-8 stands in the fields with
// base64, which win when it is read.
type message struct {
	Pattern       string `json:"pattern,omitempty"`
	Channel       string `json:"channel,omitempty"`
	ChannelBase64 string `json:"channel_base64,omitempty"`
	Payload       string `json:"payload"`
	PayloadBase64 string `json:"payload_base64,omitempty"`
}

// newMessage fits channel and payload into JSON.
func newMessage(pattern, channel, payload string) message {
	m := message{Pattern: pattern, Channel: channel, Payload: payload}
	if !utf8.ValidString(channel) {
		m.Channel, m.ChannelBase64 = "", base64.StdEncoding.EncodeToString([]byte(channel))
	}
	if !utf8.ValidString(payload) {
		m.Payload, m.PayloadBase64 = "", base64.StdEncoding.EncodeToString([]byte(payload))
	}
	return m
}

// bytes returns channel and payload as they were.
func (m message) bytes() (channel, payload string, err error) {
	channel, payload = m.Channel, m.Payload
	if m.ChannelBase64 != "" {
		raw, err := base64.StdEncoding.DecodeString(m.ChannelBase64)
		if err != nil {
			return "", "", fmt.Errorf("channel_base64: %w", err)
		}
		channel = string(raw)
	}
	if m.PayloadBase64 != "" {
		raw, err := base64.StdEncoding.DecodeString(m.PayloadBase64)
		if err != nil {
			return "", "", fmt.Errorf("payload_base64: %w", err)
		}
		payload = string(raw)
	}
	return channel, payload, nil
}

// A messageWriter writes messages in a format.
type messageWriter struct {
	w      *bufio.Writer
	format format
	json   *json.Encoder
}

func newMessageWriter(w io.Writer, f format) *messageWriter {
	m := &messageWriter{w: bufio.NewWriterSize(w, bufferBytes), format: f}
	m.json = json.NewEncoder(m.w)
	m.json.SetEscapeHTML(false)
	return m
}

func (m *messageWriter) write(pattern, channel, payload string) error {
	if m.format == formatJSON {
		return m.json.Encode(newMessage(pattern, channel, payload))
	}
	if _, err := m.w.WriteString(payload); err != nil || m.format == formatRaw {
		return err
	}
	return m.w.WriteByte('\n')
}

// A messageReader reads messages in a format.
type messageReader struct {
	r       *bufio.Reader
	format  format
	channel string // of messages that do not say; "": they have to
	number  int
}

// next returns io.EOF at the end.
func (m *messageReader) next() (channel, payload string, err error) {
	line, err := m.r.ReadBytes('\n')
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return "", "", err
	}
	m.number++
	if n := len(line) - 1; line[n] == '\n' {
		line = line[:n]
	}
	if m.format != formatJSON {
		return m.channel, string(line), nil
	}
	var msg message
	if err := json.Unmarshal(line, &msg); err != nil {
		return "", "", fmt.Errorf("line %d: %w", m.number, err)
	}
	channel, payload, err = msg.bytes()
	if err != nil {
		return "", "", fmt.Errorf("line %d: %w", m.number, err)
	}
	if m.channel != "" {
		channel = m.channel
	}
	if channel == "" {
		return "", "", fmt.Errorf("line %d names no channel, and no argument does", m.number)
	}
	return channel, payload, nil
}
