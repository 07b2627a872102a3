package hostile

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"broker/integration/harness"
	"broker/integration/reliability"
)

// spared are commands that end the connection or the server, answer later,
// answer more or less than once on purpose, or change what all others are
// answered.
var spared = map[string]bool{
	"quit": true, "shutdown": true, "monitor": true, "reset": true, "hello": true, "multi": true, "auth": true,
	"client|kill": true, "client|pause": true, "client|reply": true, "config|set": true, "config|rewrite": true,
	"acl|setuser": true, "acl|deluser": true, "acl|load": true, "acl|save": true,
	"debug": true, "failover": true, "wait": true, "sync": true, "psync": true, "replicaof": true, "slaveof": true,
}

// sparedParents are containers whose name must not stand alone with a random
// subcommand, which might be a spared one.
var sparedWords = []string{"kill", "pause", "reply", "set", "rewrite", "setuser", "deluser", "load", "save"}

// A namer draws commands.
type namer struct {
	r        *rand.Rand
	commands [][]string // the server's own, as words
}

// ownCommands asks the server for its commands.
func ownCommands(c *harness.Conn) ([][]string, error) {
	v, err := c.Do("COMMAND", "LIST")
	if err != nil {
		return nil, err
	}
	var all [][]string
	for _, e := range v.Elems {
		if name := strings.ToLower(e.Text); !spared[name] && name != "debug" {
			all = append(all, strings.Split(name, "|"))
		}
	}
	if len(all) < 50 {
		return nil, fmt.Errorf("COMMAND LIST names %d commands", len(all))
	}
	return all, nil
}

// evil draws a word full of what ends lines, strings and values.
func (n *namer) evil() string {
	const bytes = "\r\n\r\n\x00\x00$*+-:>_%'\"\\ abA01\x7f\xff"
	b := make([]byte, n.r.IntN(14))
	for i := range b {
		b[i] = bytes[n.r.IntN(len(bytes))]
	}
	return string(b)
}

// command draws a command: mostly one that exists, with anything for
// arguments, and sometimes none at all.
func (n *namer) command() []string {
	words := []string{n.evil()}
	if n.r.IntN(5) > 0 {
		words = append([]string(nil), n.commands[n.r.IntN(len(n.commands))]...)
	}
	for range n.r.IntN(5) {
		switch n.r.IntN(6) {
		case 0:
			words = append(words, strconv.Itoa(n.r.IntN(5)-1))
		case 1:
			// Another command's name or option in the wrong place.
			other := n.commands[n.r.IntN(len(n.commands))]
			words = append(words, other[len(other)-1])
		default:
			words = append(words, n.evil())
		}
	}
	if words[0] == "" {
		return words
	}
	for name := range spared {
		if strings.EqualFold(words[0], name) {
			words[0] = "x" + words[0]
		}
	}
	if len(words) > 1 {
		for _, s := range sparedWords {
			if strings.EqualFold(words[1], s) {
				words[1] = "x" + words[1]
			}
		}
	}
	return words
}

// onlyPushes are the commands that are answered by pushes, one per name.
func onlyPushes(words []string) bool {
	return strings.HasSuffix(strings.ToLower(words[0]), "subscribe")
}

// wellFormedLine reports whether the line types of v hold no half of a line
// end: ParseValue ends them at the first whole one.
func wellFormedLine(v harness.Value) bool {
	switch v.Type {
	case '+', '-', ':', ',', '#', '(':
		return !strings.ContainsAny(v.Text, "\r\n")
	}
	for _, e := range v.Elems {
		if !wellFormedLine(e) {
			return false
		}
	}
	return true
}

// TestReplies_OneWellFormedEach sends random commands, each followed by an
// ECHO of its number, and counts what comes between two numbers.
func TestReplies_OneWellFormedEach(t *testing.T) {
	variants := harness.Variants(2)
	const workers, batch = 4, 32
	total := reliability.Size(40_000, 1_000_000)
	var wg sync.WaitGroup
	for w := range workers {
		target := variants[w%len(variants)].Start(t)
		c := target.Dial(t)
		if v, err := c.Do("HELLO", "3"); err != nil || v.Type != '%' {
			t.Fatal(v, err)
		}
		commands, err := ownCommands(c)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			n := namer{rand.New(rand.NewPCG(uint64(w), 8)), commands}
			for done := 0; done < total/workers; done += batch {
				var b []byte
				var sent [batch][]string
				for i := range sent {
					sent[i] = n.command()
					b = harness.AppendCommand(b, sent[i]...)
					b = harness.AppendCommand(b, "ECHO", "number "+strconv.Itoa(done+i))
				}
				if err := c.Send(b); err != nil {
					t.Errorf("worker %d: %v", w, err)
					return
				}
				for i, words := range sent {
					if err := oneReply(c, words, "number "+strconv.Itoa(done+i)); err != nil {
						t.Errorf("%s, worker %d, command %d, %q: %v", target.Name, w, done+i, words, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	reliability.Note(t, "replies", "%d commands, each answered once and well-formed", total)
}

// oneReply reads until the marker and complains unless exactly one reply, or
// for a command that is answered by pushes at least one of those, came before.
func oneReply(c *harness.Conn, words []string, marker string) error {
	replies, pushes := 0, 0
	for {
		v, err := c.Next()
		switch {
		case err != nil:
			return err
		case !wellFormedLine(v):
			return fmt.Errorf("the reply %q holds half a line end", v.Text)
		case v.Type == '$' && v.Text == marker:
			if replies == 1 || replies == 0 && pushes > 0 && onlyPushes(words) {
				return nil
			}
			return fmt.Errorf("%d replies and %d pushes", replies, pushes)
		case v.Type == '>':
			pushes++
		default:
			replies++
		}
	}
}

// TestReplies_CheckerCounts feeds the checker what a server with a fault would
// send.
func TestReplies_CheckerCounts(t *testing.T) {
	for _, tc := range []struct {
		name, stream string
		good         bool
	}{
		{"one", "+OK\r\n$1\r\nm\r\n", true},
		{"none", "$1\r\nm\r\n", false},
		{"two", "+OK\r\n+OK\r\n$1\r\nm\r\n", false},
		{"injected", "-ERR unknown command 'a\r\n+OK\r\n$1\r\nm\r\n", false},
		{"half a line end", "-ERR a\nb\r\n$1\r\nm\r\n", false},
		{"no value", "ERR\r\n$1\r\nm\r\n", false},
	} {
		addr, stop := playOnce(t, tc.stream)
		c, err := harness.Dial(addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := oneReply(c, []string{"PING"}, "m"); (err == nil) != tc.good {
			t.Errorf("%s: %v", tc.name, err)
		}
		c.Close()
		stop()
	}
}
