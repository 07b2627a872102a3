package cli

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What sub writes as JSON pub reads back, whatever the bytes.
func TestMessages_JSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type pair struct{ channel, payload string }
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		var want []pair
		for range rapid.IntRange(0, 5).Draw(t, "messages") {
			want = append(want, pair{"c" + text.Draw(t, "channel"), text.Draw(t, "payload")})
		}
		var stream bytes.Buffer
		w := newMessageWriter(&stream, formatJSON)
		for _, p := range want {
			if err := w.write("p*", p.channel, p.payload); err != nil {
				t.Fatal(err)
			}
		}
		w.w.Flush()
		if n := strings.Count(stream.String(), "\n"); n != len(want) {
			t.Fatalf("%d lines for %d messages", n, len(want))
		}
		r := &messageReader{r: bufio.NewReader(&stream), format: formatJSON}
		for _, p := range want {
			channel, payload, err := r.next()
			if (pair{channel, payload}) != p || err != nil {
				t.Fatalf("%q %q %v, want %q", channel, payload, err, p)
			}
		}
		if _, _, err := r.next(); err != io.EOF {
			t.Fatalf("%v behind the last message, want EOF", err)
		}
	})
}

func TestMessageReader_Lines(t *testing.T) {
	r := &messageReader{r: bufio.NewReader(strings.NewReader("a\n\nb\r\nc")), format: formatLine, channel: "ch"}
	for _, want := range []string{"a", "", "b\r", "c"} {
		channel, payload, err := r.next()
		if channel != "ch" || payload != want || err != nil {
			t.Errorf("%q %q %v, want %q", channel, payload, err, want)
		}
	}
	if _, _, err := r.next(); err != io.EOF {
		t.Errorf("%v, want EOF", err)
	}
}

func TestMessageReader_SaysWhichLineIsBad(t *testing.T) {
	for text, want := range map[string]string{
		`{"channel":"a","payload":"x"}` + "\nnope\n": "line 2: ",
		`{"payload":"x"}`:                      "line 1 names no channel",
		`{"channel":"a","payload_base64":"*"}`: "line 1: payload_base64",
		`{"channel_base64":"*","payload":"x"}`: "line 1: channel_base64",
		`{"channel":"a","payload":7}`:          "line 1: ",
		"\n":                                   "line 1: ",
		`{"channel":"a","payload":"x"} {"channel":"b"}` + "": "line 1: ",
	} {
		r := &messageReader{r: bufio.NewReader(strings.NewReader(text)), format: formatJSON}
		var err error
		for err == nil {
			_, _, err = r.next()
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(1000, 0)
	p := pace{rate: 4, begin: start}
	now := start
	for i, want := range []time.Duration{0, 250, 250, 250} {
		wait := p.next(now)
		if wait != want*time.Millisecond {
			t.Errorf("message %d waits %v, want %v ms", i, wait, want)
		}
		now = now.Add(wait)
	}
	now = now.Add(600 * time.Millisecond) // two and a half are due
	for i, wait := range []bool{false, false, true} {
		if got := p.next(now) > 0; got != wait {
			t.Errorf("message %d behind schedule waits: %v", i, got)
		}
	}
	now = now.Add(time.Hour) // a pause is not made up for
	if first, second := p.next(now), p.next(now); first != 0 || second != 250*time.Millisecond {
		t.Errorf("after a pause: %v, %v", first, second)
	}
	if got := (&pace{}).next(now); got != 0 {
		t.Errorf("without a rate: %v", got)
	}
}
