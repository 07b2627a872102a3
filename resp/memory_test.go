package resp

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestDecode_AllocatesNothingWhenSteady(t *testing.T) {
	for _, c := range benchCommands {
		stream := []byte(c.stream)
		d := &Decoder{Limits: DefaultLimits()}
		var p Partial
		if allocs := testing.AllocsPerRun(100, func() {
			if args, n, err := d.Decode(&p, stream); len(args) == 0 || n != len(stream) || err != nil {
				t.Fatalf("%s: %d args, %d bytes, error %v", c.name, len(args), n, err)
			}
		}); allocs != 0 {
			t.Errorf("%s: %v allocations", c.name, allocs)
		}
		if allocs := testing.AllocsPerRun(100, func() {
			for cut := 1; cut < len(stream); cut += 1 + len(stream)/10 {
				d.Decode(&p, stream[:cut])
			}
			d.Decode(&p, stream)
		}); allocs != 0 {
			t.Errorf("%s in pieces: %v allocations", c.name, allocs)
		}
	}
}

// A shared error costs a flood of bad requests nothing.
func TestDecode_ErrorsAllocateNothing(t *testing.T) {
	d := &Decoder{Limits: DefaultLimits()}
	var p Partial
	for _, stream := range []string{"*x\r\n", "*1\r\n$x\r\n", "\"\n"} {
		buf := []byte(stream)
		if allocs := testing.AllocsPerRun(100, func() {
			if _, _, err := d.Decode(&p, buf); err == nil {
				t.Fatalf("%q: no error", stream)
			}
		}); allocs != 0 {
			t.Errorf("%q: %v allocations", stream, allocs)
		}
	}
}

// Invariant bounded: what is announced and has not arrived costs nothing.
func TestDecode_AnnouncedNumbersCostNothing(t *testing.T) {
	for _, stream := range []string{
		"*2147483647\r\n",
		"*300000000\r\n$1\r\na\r\n",
		"*2147483647\r\n$1000\r\n",
		"*1\r\n$536870912\r\nabc",
		"*999999999\r\n" + strings.Repeat("$0\r\n\r\n", 8),
	} {
		buf := []byte(stream)
		d := &Decoder{Limits: DefaultLimits()}
		var p Partial
		d.Decode(&p, []byte("*9\r\n"+strings.Repeat("$1\r\na\r\n", 9)))
		if allocs := testing.AllocsPerRun(50, func() {
			for range 3 {
				if args, n, err := d.Decode(&p, buf); args != nil || n != 0 || err != nil {
					t.Fatalf("%q: args %q, n %d, error %v", stream, args, n, err)
				}
			}
			p.Reset()
		}); allocs != 0 {
			t.Errorf("%q: %v allocations", stream, allocs)
		}
	}
}

// Work is counted, not timed: a command that arrives byte by byte has each of
// its bytes searched once, so that the parser's offsets only move forward.
func TestPartial_ProgressIsKept(t *testing.T) {
	d := &Decoder{Limits: DefaultLimits()}
	for _, stream := range []string{
		"*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$1000\r\n" + strings.Repeat("x", 1000) + "\r\n",
		"*1000000\r\n" + strings.Repeat("$1\r\na\r\n", 200),
		"PUBLISH " + strings.Repeat("x", 1000),
		"*" + strings.Repeat("1", 1000),
	} {
		var p Partial
		last := p
		for n := 1; n < len(stream); n++ {
			if _, used, err := d.Decode(&p, []byte(stream[:n])); used != 0 || err != nil {
				t.Fatalf("%.20q after %d bytes: consumed %d, error %v", stream, n, used, err)
			}
			if p.pos < last.pos || p.seen < last.seen {
				t.Fatalf("%.20q after %d bytes: went back from %+v to %+v", stream, n, last, p)
			}
			if !p.inPayload && p.seen < n-1 {
				t.Fatalf("%.20q after %d bytes: only %d searched", stream, n, p.seen)
			}
			last = p
		}
	}
}

// collected reports whether a buffer is freed although d is alive: it decodes
// a command from the buffer, calls then and waits for a finalizer.
func collected(d *Decoder, stream string, then func()) bool {
	freed := make(chan struct{})
	func() {
		buf := append(make([]byte, 0, 1<<20), stream...)
		runtime.AddCleanup(&buf[0], func(struct{}) { close(freed) }, struct{}{})
		var p Partial
		d.Decode(&p, buf)
	}()
	then()
	for range 20 {
		runtime.GC()
		select {
		case <-freed:
			return true
		default:
			runtime.Gosched()
		}
	}
	runtime.KeepAlive(d)
	return false
}

func TestDecode_ForgetsTheLastBuffer(t *testing.T) {
	small := []byte("*1\r\n$4\r\nPING\r\n")
	next := map[string]func(d *Decoder){
		"shorter command": func(d *Decoder) { var p Partial; d.Decode(&p, small) },
		"inline command":  func(d *Decoder) { var p Partial; d.Decode(&p, []byte("PING\n")) },
		"skipped bytes":   func(d *Decoder) { var p Partial; d.Decode(&p, []byte("*0\r\n")) },
		"incomplete":      func(d *Decoder) { var p Partial; d.Decode(&p, small[:5]) },
		"cut argument":    func(d *Decoder) { var p Partial; d.Decode(&p, []byte("*3\r\n$1\r\na\r\n$5\r\nabc")) },
		"no bytes":        func(d *Decoder) { var p Partial; d.Decode(&p, nil) },
		"error":           func(d *Decoder) { var p Partial; d.Decode(&p, []byte("*x\r\n")) },
		"Release":         func(d *Decoder) { d.Release() },
	}
	for name, then := range next {
		for kind, stream := range map[string]string{
			"multibulk": command("ECHO", "a", "b", "c"),
			"cut":       command("ECHO", "a", "b", "c")[:20],
			"inline":    "ECHO a b c\n",
			"many":      "*2000\r\n" + strings.Repeat("$1\r\na\r\n", 2000),
		} {
			d := &Decoder{Limits: DefaultLimits()}
			if !collected(d, stream, func() { then(d) }) {
				t.Errorf("after %s and %s the first command's buffer is still referred to", kind, name)
			}
		}
	}
}

// Only a complete command keeps its buffer alive until the next call.
func TestDecode_KeepsNoBufferWithoutCommand(t *testing.T) {
	for kind, stream := range map[string]string{
		"incomplete":        command("ECHO", "a", "b")[:20],
		"incomplete inline": "ECHO a b",
		"bad length":        "*3\r\n$1\r\na\r\n$1\r\nb\r\n$x\r\n",
		"unbalanced quotes": "ECHO a b \"\n",
		"skipped":           "*-1\r\n",
		"skipped inline":    "  \n",
		"no dollar":         "*3\r\n$1\r\na\r\n$1\r\nb\r\n!",
	} {
		if d := (&Decoder{Limits: DefaultLimits()}); !collected(d, stream, func() {}) {
			t.Errorf("%s: the buffer is still referred to", kind)
		}
	}
}

func TestDecode_ShrinksScratch(t *testing.T) {
	many := []byte("*50000\r\n" + strings.Repeat("$1\r\na\r\n", 50000))
	ping := []byte("*1\r\n$4\r\nPING\r\n")
	for name, after := range map[string]func(*Decoder){
		"command":    func(d *Decoder) { var p Partial; d.Decode(&p, ping) },
		"inline":     func(d *Decoder) { var p Partial; d.Decode(&p, []byte("PING\n")) },
		"incomplete": func(d *Decoder) { var p Partial; d.Decode(&p, many[:len(many)-1]) },
		"Release":    func(d *Decoder) { d.Release() },
	} {
		for _, cut := range []int{0, 7, 100, len(many) - 1} {
			d := &Decoder{Limits: DefaultLimits()}
			var p Partial
			d.Decode(&p, many[:cut])
			args, _, err := d.Decode(&p, many)
			if len(args) != 50000 || err != nil {
				t.Fatalf("cut at %d: %d args, error %v", cut, len(args), err)
			}
			after(d)
			if got := cap(d.args); got > keepArgs {
				t.Errorf("cut at %d, then %s: scratch for %d arguments is kept", cut, name, got)
			}
		}
	}
}

func TestEncode_AllocatesNothing(t *testing.T) {
	channel, payload := []byte("chan:12345"), []byte(strings.Repeat("x", 300))
	dst := make([]byte, 0, 1024)
	w := Writer{B: dst}
	for name, f := range map[string]func(){
		"message":      func() { AppendMessage(dst, Message, channel, payload) },
		"pmessage":     func() { AppendPatternMessage(dst, "chan:*", channel, payload) },
		"head":         func() { AppendMessageHead(dst, ShardMessage, channel, 1<<30) },
		"pattern head": func() { AppendPatternMessageHead(dst, "chan:*", channel, 1<<30) },
		"ack":          func() { AppendAck(dst, RESP3, "unsubscribe", channel, 123456) },
		"ack string":   func() { AppendAckString(dst, RESP3, "unsubscribe", "chan:1", 123456) },
		"replies": func() {
			for _, w.Proto = range []Proto{RESP2, RESP3} {
				w.B = dst
				w.Int(1 << 40)
				w.Error("ERR unknown\r\ncommand\r\n")
				w.Bulk(channel)
				w.Map(3)
				w.Null()
				w.Double(-1.25e-9)
				w.Bool(true)
				w.Verbatim("txt", "text")
			}
		},
	} {
		if allocs := testing.AllocsPerRun(100, f); allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
	for _, n := range []int{0, 9, 10, 99, 100, 999, 1000, 12345} {
		c, p := make([]byte, n), make([]byte, n)
		dst := make([]byte, 0, MessageSize(ShardMessage, n, n))
		pdst := make([]byte, 0, PatternMessageSize(n, n, n))
		pattern := string(c)
		if allocs := testing.AllocsPerRun(10, func() {
			AppendMessage(dst, ShardMessage, c, p)
			AppendPatternMessage(pdst, pattern, c, p)
		}); allocs != 0 {
			t.Errorf("a frame of parts of %d bytes: %v allocations in a buffer of its size", n, allocs)
		}
	}
}

func ExampleDecoder_Decode() {
	d := &Decoder{Limits: DefaultLimits()}
	var p Partial
	buf := []byte("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\n*1\r\n$4\r\nPI")
	for len(buf) > 0 {
		args, n, err := d.Decode(&p, buf)
		if err != nil {
			fmt.Printf("-ERR %v\n", err)
			return
		}
		if n == 0 {
			fmt.Printf("%d bytes wait for at least %d more\n", len(buf), p.Missing(len(buf)))
			return
		}
		buf = buf[n:]
		if len(args) > 0 {
			fmt.Printf("%q\n", args)
		}
	}
	// Output:
	// ["ECHO" "hi"]
	// ["PING"]
	// 10 bytes wait for at least 4 more
}
