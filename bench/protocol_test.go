package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestRESP_Frames(t *testing.T) {
	var p resp
	subscribe, acks := p.appendSubscribe(nil, false, []string{"a", "bc"})
	psubscribe, _ := p.appendSubscribe([]byte("x"), true, []string{"a*"})
	cases := []struct{ name, got, want string }{
		{"publish", string(p.appendPublish(nil, "ch", []byte("pay\r\nload"))), "*3\r\n$7\r\nPUBLISH\r\n$2\r\nch\r\n$9\r\npay\r\nload\r\n"},
		{"subscribe", string(subscribe), "*3\r\n$9\r\nSUBSCRIBE\r\n$1\r\na\r\n$2\r\nbc\r\n"},
		{"psubscribe", string(psubscribe), "x*2\r\n$10\r\nPSUBSCRIBE\r\n$2\r\na*\r\n"},
		{"pair", string(p.appendPair(nil, "ch")), "*2\r\n$9\r\nSUBSCRIBE\r\n$2\r\nch\r\n*2\r\n$11\r\nUNSUBSCRIBE\r\n$2\r\nch\r\n"},
		{"end", string(p.endBatch(nil)), ""},
	}
	for _, tc := range cases {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
		}
	}
	if acks != 12 {
		t.Errorf("two acks are %d lines, want 12", acks)
	}
}

func TestRESP_OwedBytes(t *testing.T) {
	var p resp
	for _, size := range []int{0, 1, 9, 10, 99, 100, 1024} {
		payload := strings.Repeat("x", size)
		message := fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$9\r\nch0000001\r\n$%d\r\n%s\r\n", size, payload)
		if got := p.messageBytes("", "ch0000001", size); got != int64(len(message)) {
			t.Errorf("message of %d: %d bytes, want %d", size, got, len(message))
		}
		pmessage := fmt.Sprintf("*4\r\n$8\r\npmessage\r\n$3\r\nch*\r\n$9\r\nch0000001\r\n$%d\r\n%s\r\n", size, payload)
		if got := p.messageBytes("ch*", "ch0000001", size); got != int64(len(pmessage)) {
			t.Errorf("pmessage of %d: %d bytes, want %d", size, got, len(pmessage))
		}
	}
	if lines, bytes := p.publishReplies(30, 1000); lines != 30 || bytes != 30*int64(len(":1000\r\n")) {
		t.Errorf("publish replies: %d lines, %d bytes", lines, bytes)
	}
	acks := "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:2\r\n*3\r\n$11\r\nunsubscribe\r\n$2\r\nch\r\n:1\r\n"
	lines, bytes := p.pairReplies(3, "ch", 1)
	if lines != 3*strings.Count(acks, "\n") || bytes != 3*int64(len(acks)) {
		t.Errorf("pair replies: %d lines, %d bytes, want three times %q", lines, bytes, acks)
	}
	// The tenth subscription's count has two digits.
	if _, more := p.pairReplies(1, "ch", 9); more != int64(len(acks))+1 {
		t.Errorf("pair replies beside 9 others: %d bytes, want %d", more, len(acks)+1)
	}
}

func TestNATS_Frames(t *testing.T) {
	var p nats
	subscribe, acks := p.appendSubscribe(nil, false, []string{"a", "b"})
	cases := []struct{ name, got, want string }{
		{"publish", string(p.endBatch(p.appendPublish(nil, "ch", []byte("hello")))), "PUB ch 5\r\nhello\r\nPING\r\n"},
		{"subscribe", string(subscribe), "SUB a 1\r\nSUB b 1\r\nPING\r\n"},
		{"pair", string(p.appendPair(nil, "ch")), "SUB ch 7\r\nUNSUB 7\r\n"},
	}
	for _, tc := range cases {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
		}
	}
	if acks != 1 {
		t.Errorf("acks are %d lines, want 1", acks)
	}
	if got, want := p.messageBytes("", "ch0000001", 5), int64(len("MSG ch0000001 1 5\r\nhello\r\n")); got != want {
		t.Errorf("message: %d bytes, want %d", got, want)
	}
}

func TestTemplate_ReplacesEveryNumber(t *testing.T) {
	var p resp
	publish := newTemplate(p.appendPublish(nil, "ch0000000", []byte("x")), "ch0000000")
	pair := newTemplate(p.appendPair(nil, "own0000000"), "own0000000")
	for _, n := range []int{0, 7, 1_234_567, maxChannels - 1} {
		want := "before" + string(p.appendPublish(nil, fmt.Sprintf(channelForm, n), []byte("x")))
		if got := string(publish.appendTo([]byte("before"), n)); got != want {
			t.Errorf("publish %d: %q, want %q", n, got, want)
		}
		want = string(p.appendPair(nil, fmt.Sprintf("own%07d", n)))
		if got := string(pair.appendTo(nil, n)); got != want {
			t.Errorf("pair %d: %q, want %q", n, got, want)
		}
	}
	if got := string(publish.appendTo(nil, 0)); got != string(publish.command) {
		t.Errorf("an earlier number stayed in the template: %q", got)
	}
}
