package resp

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

var frameLengths = []int{0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10000, 100000}

func TestFrame_Bytes(t *testing.T) {
	channel, payload := []byte("ch"), []byte("x\r\ny")
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"message", AppendMessage(nil, Message, channel, payload), "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$4\r\nx\r\ny\r\n"},
		{"smessage", AppendMessage(nil, ShardMessage, channel, payload), "*3\r\n$8\r\nsmessage\r\n$2\r\nch\r\n$4\r\nx\r\ny\r\n"},
		{"pmessage", AppendPatternMessage(nil, "c*", channel, payload), "*4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nch\r\n$4\r\nx\r\ny\r\n"},
		{"empty parts", AppendMessage(nil, Message, nil, nil), "*3\r\n$7\r\nmessage\r\n$0\r\n\r\n$0\r\n\r\n"},
		{"empty pattern", AppendPatternMessage(nil, "", []byte{}, nil), "*4\r\n$8\r\npmessage\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n"},
		{"appended", AppendMessage([]byte("before"), Message, channel, nil), "before*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$0\r\n\r\n"},
		{"head", AppendMessageHead(nil, ShardMessage, channel, 536870912), "*3\r\n$8\r\nsmessage\r\n$2\r\nch\r\n$536870912\r\n"},
		{"pattern head", AppendPatternMessageHead(nil, "c*", channel, 536870912), "*4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nch\r\n$536870912\r\n"},
	} {
		if string(c.got) != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, c.got, c.want)
		}
	}
}

func TestFrame_HeadAndPayloadAreTheFrame(t *testing.T) {
	channel := []byte("ch")
	for _, n := range frameLengths {
		payload := bytes.Repeat([]byte("p"), n)
		for _, kind := range []Kind{Message, ShardMessage} {
			parts := append(append(AppendMessageHead(nil, kind, channel, n), payload...), '\r', '\n')
			if whole := AppendMessage(nil, kind, channel, payload); !bytes.Equal(parts, whole) {
				t.Errorf("kind %d, payload of %d bytes: %.60q is not %.60q", kind, n, parts, whole)
			}
		}
		parts := append(append(AppendPatternMessageHead(nil, "c*", channel, n), payload...), '\r', '\n')
		if whole := AppendPatternMessage(nil, "c*", channel, payload); !bytes.Equal(parts, whole) {
			t.Errorf("pattern, payload of %d bytes: %.60q is not %.60q", n, parts, whole)
		}
	}
}

func TestFrame_SizesAreExact(t *testing.T) {
	for _, c := range frameLengths {
		for _, p := range frameLengths {
			channel, payload := make([]byte, c), make([]byte, p)
			for _, kind := range []Kind{Message, ShardMessage} {
				frame := AppendMessage(nil, kind, channel, payload)
				if got := MessageSize(kind, c, p); got != len(frame) {
					t.Errorf("MessageSize(%d, %d, %d) = %d, the frame has %d", kind, c, p, got, len(frame))
				}
			}
			frame := AppendPatternMessage(nil, string(payload), channel, payload)
			if got := PatternMessageSize(p, c, p); got != len(frame) {
				t.Errorf("PatternMessageSize(%d, %d, %d) = %d, the frame has %d", p, c, p, got, len(frame))
			}
		}
	}
}

// Invariant shared-bytes rests on this: a RESP3 frame is the RESP2 frame but
// for its first byte.
func TestToRESP3_FramesInARun(t *testing.T) {
	var frames []byte
	var starts []uint32
	add := func(f func([]byte) []byte) {
		starts = append(starts, uint32(len(frames)))
		frames = f(frames)
	}
	add(func(b []byte) []byte { return AppendMessage(b, Message, []byte("a"), []byte("*3\r\n")) })
	add(func(b []byte) []byte { return AppendPatternMessage(b, "*", []byte("a"), nil) })
	add(func(b []byte) []byte { return AppendMessage(b, ShardMessage, []byte("*"), []byte("z")) })
	const want2 = `*["message" "a" "*3\r\n"] *["pmessage" "*" "a" ""] *["smessage" "*" "z"]`
	if got := readAll(t, frames); got != want2 {
		t.Errorf("RESP2: got %s, want %s", got, want2)
	}
	resp3 := bytes.Clone(frames)
	ToRESP3(resp3, starts)
	want3 := strings.ReplaceAll(want2, "*[", ">[")
	if got := readAll(t, resp3); got != want3 {
		t.Errorf("RESP3: got %s, want %s", got, want3)
	}
	only := bytes.Clone(frames)
	ToRESP3(only, starts[1:2])
	if got, want := readAll(t, only), `*["message" "a" "*3\r\n"] >["pmessage" "*" "a" ""] *["smessage" "*" "z"]`; got != want {
		t.Errorf("one of three: got %s, want %s", got, want)
	}
	ToRESP3(nil, nil)
}

func TestAck_Bytes(t *testing.T) {
	for _, c := range []struct {
		name  string
		proto Proto
		verb  string
		arg   []byte
		count int
		want  string
	}{
		{"RESP2", RESP2, "subscribe", []byte("ch"), 1, "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n"},
		{"RESP3", RESP3, "subscribe", []byte("ch"), 12, ">3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:12\r\n"},
		{"two-digit verb", RESP2, "unsubscribe", []byte("ch"), 123, "*3\r\n$11\r\nunsubscribe\r\n$2\r\nch\r\n:123\r\n"},
		{"no name in RESP2", RESP2, "punsubscribe", nil, 0, "*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n"},
		{"no name in RESP3", RESP3, "sunsubscribe", nil, 10000, ">3\r\n$12\r\nsunsubscribe\r\n_\r\n:10000\r\n"},
		{"empty name", RESP3, "ssubscribe", []byte{}, 1, ">3\r\n$10\r\nssubscribe\r\n$0\r\n\r\n:1\r\n"},
		{"binary name", RESP2, "psubscribe", []byte("\r\n\x00"), 1, "*3\r\n$10\r\npsubscribe\r\n$3\r\n\r\n\x00\r\n:1\r\n"},
	} {
		if got := string(AppendAck([]byte("before"), c.proto, c.verb, c.arg, c.count)); got != "before"+c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
		if c.arg != nil {
			if got := string(AppendAckString(nil, c.proto, c.verb, string(c.arg), c.count)); got != c.want {
				t.Errorf("%s from a string:\ngot  %q\nwant %q", c.name, got, c.want)
			}
		}
	}
}

// An argument as the decoder gives it makes the ack of an empty name, not of
// none.
func TestAck_EmptyNameOffTheWire(t *testing.T) {
	for _, stream := range []string{"*2\r\n$9\r\nSUBSCRIBE\r\n$0\r\n\r\n", "SUBSCRIBE \"\"\n", "SUBSCRIBE ''\n"} {
		d := &Decoder{Limits: DefaultLimits()}
		var p Partial
		args, _, err := d.Decode(&p, []byte(stream))
		if err != nil || len(args) != 2 {
			t.Fatalf("%q: %q, error %v", stream, args, err)
		}
		if got, want := string(AppendAck(nil, RESP2, "subscribe", args[1], 1)), "*3\r\n$9\r\nsubscribe\r\n$0\r\n\r\n:1\r\n"; got != want {
			t.Errorf("%q: got %q, want %q", stream, got, want)
		}
	}
}

// FuzzFrame reads frames back with two readers that are not ours to change.
func FuzzFrame(f *testing.F) {
	f.Add("c*", []byte("ch"), []byte("payload"))
	f.Add("", []byte{}, []byte{})
	f.Add("\r\n", []byte("*3\r\n"), bytes.Repeat([]byte{0}, 1000))
	f.Fuzz(func(t *testing.T, pattern string, channel, payload []byte) {
		for _, c := range []struct {
			frame []byte
			size  int
			want  []string
		}{
			{AppendMessage(nil, Message, channel, payload), MessageSize(Message, len(channel), len(payload)), []string{"message", string(channel), string(payload)}},
			{AppendMessage(nil, ShardMessage, channel, payload), MessageSize(ShardMessage, len(channel), len(payload)), []string{"smessage", string(channel), string(payload)}},
			{AppendPatternMessage(nil, pattern, channel, payload), PatternMessageSize(len(pattern), len(channel), len(payload)), []string{"pmessage", pattern, string(channel), string(payload)}},
			{AppendAck(nil, RESP2, "subscribe", append([]byte{}, channel...), len(payload)), -1, []string{"subscribe", string(channel), strconv.Itoa(len(payload))}},
		} {
			n, value := redcon.ReadNextRESP(c.frame)
			var got []string
			value.ForEach(func(element redcon.RESP) bool {
				got = append(got, element.String())
				return true
			})
			if n != len(c.frame) || fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Fatalf("redcon reads %d of %d bytes of %q: %q", n, len(c.frame), c.frame, got)
			}
			if c.size >= 0 && c.size != len(c.frame) {
				t.Fatalf("size %d of a frame of %d bytes", c.size, len(c.frame))
			}
			ToRESP3(c.frame, []uint32{0})
			push, rest, err := readValue(string(c.frame))
			if err != nil || rest != "" || push[0] != '>' {
				t.Fatalf("RESP3: %s, rest %q, error %v", push, rest, err)
			}
		}
	})
}

func readAll(t *testing.T, frames []byte) string {
	t.Helper()
	var values []string
	for s := string(frames); s != ""; {
		value, rest, err := readValue(s)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
		s = rest
	}
	return strings.Join(values, " ")
}
