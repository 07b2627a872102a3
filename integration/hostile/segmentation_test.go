package hostile

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// A pipeline is some commands in one piece of bytes, RESET at the end, which
// leaves the connection as good as new.
func pipeline(r *rand.Rand) []byte {
	var b []byte
	word := func() string {
		n := r.IntN(12)
		if r.IntN(20) == 0 {
			n = r.IntN(20_000)
		}
		w := make([]byte, n)
		for i := range w {
			w[i] = "abc\r\n\x00 $*"[r.IntN(9)]
		}
		return string(w)
	}
	name := func() string { return "held" + strconv.Itoa(r.IntN(4)) }
	for range 1 + r.IntN(8) {
		var words []string
		switch r.IntN(14) {
		case 0:
			words = []string{"PING"}
		case 1, 2:
			words = []string{"ECHO", word()}
		case 3:
			words = []string{"SUBSCRIBE", name(), name()}
		case 4:
			words = []string{"UNSUBSCRIBE", name()}
		case 5:
			words = []string{"PSUBSCRIBE", name() + "*"}
		case 6, 7:
			// Nobody holds it: redis 7.0 tells one's own messages before the
			// reply, its later versions after it.
			words = []string{"PUBLISH", "nobody", word()}
		case 8:
			words = []string{"HELLO", "3", "SETNAME", "hello"}
			words = words[:2+2*r.IntN(2)]
		case 9:
			words = []string{"GET", word()}
		case 10:
			words = []string{"PING", word()}
		case 11:
			b = append(b, "ECHO  \"in line\\r\"\r\n"...)
			continue
		case 12:
			b = append(b, "\r\n*0\r\n*-1\r\n"...)
			continue
		case 13:
			words = []string{"NOSUCH", name()}
		}
		b = harness.AppendCommand(b, words...)
	}
	return harness.AppendCommand(b, "RESET")
}

// resetReply ends the answer to every pipeline. No other reply contains it:
// words hold no letter of it, and errors have no line end.
var resetReply = []byte("+RESET\r\n")

// answer sends b in pieces that begin at cuts and returns what comes until
// RESET is answered.
func answer(c *harness.Conn, b []byte, cuts []int) ([]byte, error) {
	from := 0
	for _, to := range append(cuts, len(b)) {
		if err := c.Send(b[from:to]); err != nil {
			return nil, err
		}
		from = to
	}
	var got []byte
	for !bytes.HasSuffix(got, resetReply) {
		v, err := c.Next()
		if err != nil {
			return got, err
		}
		got = v.Append(got)
	}
	return got, nil
}

// masked hides what differs between servers in the answer to HELLO: who they
// are.
func masked(got []byte) ([]harness.Value, error) {
	values, err := harness.ParseAll(got)
	for i, v := range values {
		if v.Type == '%' || v.Type == '*' && len(v.Elems) > 10 {
			values[i] = harness.Value{Type: v.Type}
		}
	}
	return values, err
}

// TestSegmentation_ChangesNothing sends random pipelines whole and in pieces,
// to the broker and, whole, to redis-server.
func TestSegmentation_ChangesNothing(t *testing.T) {
	redis := harness.StartRedis(t)
	variants := harness.Variants(1, 4)
	workers := 2 * len(variants)
	each := reliability.Size(2_400, 100_000) / workers
	targets := make([]*harness.Target, len(variants))
	for i, v := range variants {
		targets[i] = v.Start(t)
	}
	var wg sync.WaitGroup
	for w := range workers {
		target := targets[w%len(targets)]
		whole, cut, control := target.Dial(t), target.Dial(t), redis.Dial(t)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for n := range each {
				b := pipeline(r)
				var cuts []int
				for at := 0; len(cuts) < 40; {
					// Many short pieces, or a few of any length.
					at += 1 + r.IntN(1+len(b)>>r.IntN(8))
					if at >= len(b) {
						break
					}
					cuts = append(cuts, at)
				}
				want, err := answer(whole, b, nil)
				if err != nil {
					t.Errorf("%s, worker %d, pipeline %d: %v", target.Name, w, n, err)
					return
				}
				got, err := answer(cut, b, cuts)
				if err != nil || !bytes.Equal(withoutID(got), withoutID(want)) {
					t.Errorf("%s, worker %d, pipeline %d: %v\n%s\ncut at %v: %s\nwhole:  %s", target.Name, w, n, err,
						harness.Show(b), cuts, harness.Show(got), harness.Show(want))
					return
				}
				theirs, err := answer(control, b, nil)
				if err != nil {
					t.Errorf("redis-server, worker %d, pipeline %d: %v", w, n, err)
					return
				}
				a, err1 := masked(want)
				z, err2 := masked(theirs)
				if err1 != nil || err2 != nil || harness.Value.String(harness.Value{Type: '*', Elems: a}) != harness.Value.String(harness.Value{Type: '*', Elems: z}) {
					t.Errorf("%s, worker %d, pipeline %d\n%s\nbroker %s\nredis  %s", target.Name, w, n,
						harness.Show(b), harness.Show(want), harness.Show(theirs))
					return
				}
			}
		})
	}
	wg.Wait()
	reliability.Note(t, "segmentation", "%d pipelines in up to 41 pieces each, all answered byte for byte as in one piece and as by redis-server 7.0.15", each*workers)
}

// withoutID hides the number of the connection in the answer to HELLO, the
// only thing in which two connections differ.
func withoutID(got []byte) []byte {
	const id = "$2\r\nid\r\n:"
	for {
		at := bytes.Index(got, []byte(id))
		if at < 0 {
			return got
		}
		end := at + len(id) + bytes.IndexByte(got[at+len(id):], '\r')
		got = append(append(bytes.Clone(got[:at]), "id hidden"...), got[end:]...)
	}
}
