package resp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

func command(args ...string) string {
	var w Writer
	w.Array(len(args))
	for _, a := range args {
		w.BulkString(a)
	}
	return string(w.B)
}

var benchCommands = []struct{ name, stream string }{
	{"PING", command("PING")},
	{"PING/inline", "PING\r\n"},
	{"ECHO/inline/quoted", "ECHO \"hello \\\"world\\\"\"\r\n"},
	{"PUBLISH/payload=32B", command("PUBLISH", "chan:12345", strings.Repeat("x", 32))},
	{"PUBLISH/payload=256B", command("PUBLISH", "chan:12345", strings.Repeat("x", 256))},
	{"PUBLISH/payload=16KiB", command("PUBLISH", "chan:12345", strings.Repeat("x", 16<<10))},
	{"SUBSCRIBE/names=8", command(append([]string{"SUBSCRIBE"}, strings.Fields(strings.Repeat("channel:1 ", 8))...)...)},
	{"SUBSCRIBE/names=100", command(append([]string{"SUBSCRIBE"}, strings.Fields(strings.Repeat("channel:1 ", 100))...)...)},
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range benchCommands {
		b.Run(c.name, func(b *testing.B) {
			// 30 commands behind each other, as a pipelining client sends.
			stream := []byte(strings.Repeat(c.stream, 30))
			d := &Decoder{Limits: DefaultLimits()}
			var p Partial
			pos := 0
			b.ReportAllocs()
			for b.Loop() {
				args, n, err := d.Decode(&p, stream[pos:])
				if len(args) == 0 || err != nil {
					b.Fatal(args, n, err)
				}
				if pos += n; pos == len(stream) {
					pos = 0
				}
			}
		})
	}
}

// The baseline: redcon's parser, given the same stream and a buffer to reuse.
func BenchmarkDecode_Redcon(b *testing.B) {
	for _, c := range benchCommands {
		b.Run(c.name, func(b *testing.B) {
			stream := []byte(strings.Repeat(c.stream, 30))
			rest := stream
			scratch := make([][]byte, 0, 128)
			b.ReportAllocs()
			for b.Loop() {
				complete, _, _, after, err := redcon.ReadNextCommand(rest, scratch)
				if !complete || err != nil {
					b.Fatal(complete, err)
				}
				if rest = after; len(rest) == 0 {
					rest = stream
				}
			}
		})
	}
}

// The same PUBLISH, cut once at each place in turn: what the slow path costs.
func BenchmarkDecode_Split(b *testing.B) {
	stream := []byte(command("PUBLISH", "chan:12345", strings.Repeat("x", 256)))
	d := &Decoder{Limits: DefaultLimits()}
	var p Partial
	cut := 1
	b.ReportAllocs()
	for b.Loop() {
		if _, n, err := d.Decode(&p, stream[:cut]); n != 0 || err != nil {
			b.Fatal(n, err)
		}
		if args, _, err := d.Decode(&p, stream); len(args) != 3 || err != nil {
			b.Fatal(args, err)
		}
		if cut++; cut == len(stream) {
			cut = 1
		}
	}
}

func BenchmarkEncodeMessage(b *testing.B) {
	channel := []byte("chan:12345")
	for _, size := range []int{32, 256, 16 << 10} {
		payload := make([]byte, size)
		dst := make([]byte, 0, PatternMessageSize(6, len(channel), size))
		b.Run(fmt.Sprintf("message/payload=%dB", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendMessage(dst[:0], Message, channel, payload)
			}
		})
		b.Run(fmt.Sprintf("pmessage/payload=%dB", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendPatternMessage(dst[:0], "chan:*", channel, payload)
			}
		})
	}
	b.Run("head", func(b *testing.B) {
		dst := make([]byte, 0, 256)
		b.ReportAllocs()
		for b.Loop() {
			dst = AppendMessageHead(dst[:0], Message, channel, 1<<20)
		}
	})
	b.Run("size", func(b *testing.B) {
		b.ReportAllocs()
		total := 0
		for b.Loop() {
			total += MessageSize(Message, len(channel), 256)
		}
	})
}

func BenchmarkEncodeAck(b *testing.B) {
	dst, channel := make([]byte, 0, 256), []byte("chan:12345")
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendAck(dst[:0], RESP2, "subscribe", channel, 17)
	}
}

func BenchmarkEncodeReply(b *testing.B) {
	w := Writer{B: make([]byte, 0, 256), Proto: RESP3}
	for _, c := range []struct {
		name  string
		write func()
	}{
		{"int=1", func() { w.Int(1) }},
		{"int=12345", func() { w.Int(12345) }},
		{"error", func() { w.Error("ERR wrong number of arguments for 'subscribe' command") }},
		{"bulk=16B", func() { w.BulkString("0123456789abcdef") }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.B = w.B[:0]
				c.write()
			}
		})
	}
}
