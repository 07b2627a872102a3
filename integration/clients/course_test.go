package clients

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

// digest renders a payload as the programs do.
func digest(payload string) string {
	return fmt.Sprintf("%d/%08x", len(payload), crc32.ChecksumIEEE([]byte(payload)))
}

// The payloads that are no plain words.
var (
	everyByte = func() string {
		b := make([]byte, 256)
		for i := range b {
			b[i] = byte(i)
		}
		return string(b)
	}()
	mebibyte = func() string {
		var b strings.Builder
		for i := range 1 << 16 {
			fmt.Fprintf(&b, "%015d\n", i)
		}
		return b.String()
	}()
)

// A course is what one run of a program is to do, and so what it has to print.
type course struct {
	lib    library
	proto  int
	access access
}

func (c course) reconnects() bool { return c.lib.reconnects(c.proto, c.access) }

// steps returns the optional steps as the program's environment has them.
func (c course) steps() string {
	var all []string
	for _, s := range []struct {
		name string
		does bool
	}{{"shard", c.lib.shard}, {"ping", c.lib.ping}, {"reconnect", c.reconnects()}} {
		if s.does {
			all = append(all, s.name)
		}
	}
	return strings.Join(all, " ")
}

// want returns the lines of each stream, which see [course.stream].
func (c course) want() map[string][]string {
	w := map[string][]string{}
	line := func(words ...any) {
		text := strings.TrimSuffix(fmt.Sprintln(words...), "\n")
		if stream := c.stream(text); stream != "" {
			w[stream] = append(w[stream], text)
		}
	}
	// publish is a PUBLISH with a reply of count; what arrives follows.
	publish := func(channel, payload string, count int, kinds ...string) {
		line("publish", channel, count)
		for _, kind := range kinds {
			if kind == "pmessage" {
				line(kind, "n*", channel, digest(payload))
			} else {
				line(kind, channel, digest(payload))
			}
		}
	}
	user := c.access.user
	if user == "" {
		user = "default"
	}
	line("session", c.proto, user)
	line("subscribe", "news", 1)
	line("subscribe", "weather", 2)
	line("psubscribe", "n*", 3)
	if c.lib.shard {
		line("ssubscribe", "orders", 1)
	}
	publish("news", "hello", 2, "message", "pmessage")
	publish("weather", everyByte, 1, "message")
	publish("news", "", 2, "message", "pmessage")
	publish("weather", mebibyte, 1, "message")
	publish("void", "unheard", 0)
	if c.lib.shard {
		line("spublish", "orders", 1)
		line("smessage", "orders", digest("shard"))
	}
	for i := range 200 {
		publish("weather", fmt.Sprint(i), 1, "message")
	}
	if c.lib.ping {
		line("pong")
	}
	publish("news", "leave", 2, "message", "pmessage")
	line("unsubscribe", "news", 2)
	publish("news", "pattern only", 1, "pmessage")
	if c.reconnects() {
		line("killing")
		line("killed", 1)
		publish("weather", "again", 1, "message")
		publish("news", "again", 1, "pmessage")
	}
	if c.lib.leavesUponMessage {
		publish("weather", "leave", 1, "message")
	}
	line("punsubscribe", "n*", 1)
	line("unsubscribe", "weather", 0)
	if c.lib.shard {
		line("sunsubscribe", "orders", 0)
	}
	publish("weather", "late", 0)
	line("done")
	return w
}

// stream names the sequence that a line belongs to: the lines of one stream
// have to come in their order, those of two may come in any. It is "" for a
// line that the library does not show.
func (c course) stream(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "sent"
	}
	switch words[0] {
	case "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe":
		if !c.lib.acks {
			return ""
		}
	case "message", "pmessage", "smessage", "pong":
	default:
		return "sent"
	}
	switch c.lib.order {
	case byKind:
		return words[0]
	case byChannel:
		return strings.Join(words[:min(2, len(words))], " ")
	}
	return "received"
}

// check compares what the program printed with what it has to print.
func (c course) check(t *testing.T, printed string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(printed, "\n"), "\n")
	if last := lines[len(lines)-1]; last != "done" {
		t.Errorf("the last line is %q", last)
	}
	got, killing := map[string][]string{}, false
	for _, l := range lines {
		kind, _, _ := strings.Cut(l, " ")
		killing = killing || kind == "killing"
		if killing && slices.Contains([]string{"subscribe", "psubscribe", "ssubscribe"}, kind) {
			// A library that subscribes again may do so in any order.
			continue
		}
		if stream := c.stream(l); stream != "" {
			got[stream] = append(got[stream], l)
		} else {
			t.Errorf("the library does not show %q", l)
		}
	}
	want := c.want()
	for stream, w := range want {
		compareStreams(t, stream, got[stream], w)
		delete(got, stream)
	}
	for stream, g := range got {
		t.Errorf("stream %s: %q is not expected", stream, g)
	}
}

// compareStreams reports the first difference of two sequences.
func compareStreams(t *testing.T, stream string, got, want []string) {
	t.Helper()
	const end = "nothing more"
	for i := range max(len(got), len(want)) {
		g, w := end, end
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("stream %s, line %d: %s, want %s", stream, i+1, named(g), named(w))
			return
		}
	}
}

// named puts the payload that a line's digest stands for beside the line.
func named(line string) string {
	names := map[string]string{digest(everyByte): "every byte", digest(mebibyte): "1 MiB"}
	for _, p := range []string{"", "hello", "unheard", "shard", "leave", "pattern only", "again", "late"} {
		names[digest(p)] = fmt.Sprintf("%q", p)
	}
	for i := range 200 {
		names[digest(fmt.Sprint(i))] = fmt.Sprintf("\"%d\"", i)
	}
	words := strings.Fields(line)
	if len(words) == 0 {
		return `""`
	}
	if name, ok := names[words[len(words)-1]]; ok {
		return fmt.Sprintf("%q (%s)", line, name)
	}
	return fmt.Sprintf("%q", line)
}
