package shard

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"broker/channelstore"
	"broker/resp"
)

// simPatterns says which of the simulation's channels a pattern matches.
var simPatterns = map[string]string{"*": "abc", "[ab]": "ab", "b": "b", "?": "abc"}

var simNames = map[channelstore.Kind][]string{
	channelstore.Channels:      {"a", "b", "c"},
	channelstore.ShardChannels: {"a", "b"},
	channelstore.Patterns:      {"*", "[ab]", "b", "?"},
}

// A simSub is a subscription in the model.
type simSub struct {
	kind channelstore.Kind
	name string
}

// A simMessage is one PUBLISH.
type simMessage struct {
	id       int
	from     *simClient
	number   int // among those of its client
	handled  int // the step in which it ran
	answered int // the step in which its client had the reply; -1: not yet
	lo, hi   int // the reply lies between them: sessions about to end may count
}

// A simReply is what a client must be told next, apart from messages.
type simReply struct {
	line    string // "+PONG", or an ack as "subscribe a 1"; "unsubscribe * 1" for any name
	message *simMessage
}

// A simDelivery is a message by way of one subscription.
type simDelivery struct {
	id  int
	sub simSub
}

// A simClient is a client, its connection, and what the model knows of both.
type simClient struct {
	sim     *simulation
	id      int
	session *Session // once adopted

	// The connection.
	wire        []byte // sent and not arrived
	in          []byte // arrived and not read
	room        int    // bytes it takes before the broker feels it
	eof, broken bool
	gone        bool // torn down

	// The model: commands take effect when they run.
	subs    map[simSub]bool
	parting map[simSub]int       // dropped over several turns: holds or not, until it is told in the reply of that number
	mayGet  map[simDelivery]bool // by way of those
	dying   bool                 // counts or not, receives or not, until it is gone
	owed    map[simDelivery]bool
	want    []simReply
	asked   int // replies that were ever in want
	number  int // of its last message

	// What it has received.
	got        []byte // not parsed yet
	held       map[simSub]bool
	arrived    map[simDelivery]bool
	order      []*simMessage // by first arrival
	position   map[*simMessage]int
	transcript strings.Builder
}

func newSimClient(sim *simulation, id int) *simClient {
	return &simClient{
		sim: sim, id: id, room: 1 << 20,
		subs: map[simSub]bool{}, owed: map[simDelivery]bool{},
		parting: map[simSub]int{}, mayGet: map[simDelivery]bool{},
		held: map[simSub]bool{}, arrived: map[simDelivery]bool{}, position: map[*simMessage]int{},
	}
}

// send appends a few random commands to the wire.
func (c *simClient) send() {
	r := c.sim.r
	for range 1 + r.IntN(3) {
		kind := channelstore.Kind(r.IntN(3))
		names := simNames[kind]
		prefix := [...]string{"", "S", "P"}[kind]
		var words []string
		switch x := r.IntN(40); {
		case x < 13:
			words = append(words, prefix+"SUB")
			for range 1 + r.IntN(2) {
				words = append(words, names[r.IntN(len(names))])
			}
			if r.IntN(300) == 0 {
				// More than one turn takes; nobody publishes to these.
				for i := range sliceNames + 100 {
					words = append(words, "unused"+strconv.Itoa(i))
				}
			}
		case x < 21:
			words = append(words, prefix+"UNSUB")
			for range r.IntN(3) {
				words = append(words, names[r.IntN(len(names))])
			}
		case x < 35:
			if kind == channelstore.Patterns {
				kind, prefix = channelstore.Channels, ""
			}
			words = []string{prefix + "PUB", simNames[kind][r.IntN(len(simNames[kind]))], ""}
		case x < 37:
			words = []string{"PING"}
		case x < 38:
			words = []string{"HELLO3"}
		case x < 39:
			words = []string{"RESET"}
		default:
			if r.IntN(4) > 0 {
				continue
			}
			words = []string{"QUIT"}
		}
		var w resp.Writer
		w.Array(len(words))
		for i, word := range words {
			if i == 2 && strings.HasSuffix(words[0], "PUB") {
				c.sim.sent++
				word = strconv.Itoa(c.sim.sent)
				if r.IntN(30) == 0 {
					// Long enough for a body that receivers share.
					word = strings.Repeat("0", largeBytes+r.IntN(1000)) + word
				}
			}
			w.BulkString(word)
		}
		c.wire = append(c.wire, w.B...)
	}
}

// deliver brings n bytes from the wire to the connection.
func (c *simClient) deliver(n int) {
	c.in = append(c.in, c.wire[:n]...)
	c.wire = c.wire[n:]
}

// expect tells the model that a command runs now.
func (c *simClient) expect(args [][]byte) {
	word := string(args[0])
	var names []string
	for _, a := range args[1:] {
		names = append(names, string(a))
	}
	kind := channelstore.Channels
	if strings.HasPrefix(word, "S") && word != "SUB" {
		kind, word = channelstore.ShardChannels, word[1:]
	} else if strings.HasPrefix(word, "P") && word != "PUB" && word != "PING" {
		kind, word = channelstore.Patterns, word[1:]
	}
	letter := [...]string{"", "s", "p"}[kind]
	switch word {
	case "SUB":
		for _, name := range names {
			c.subs[simSub{kind, name}] = true
			c.wantLine("%ssubscribe %s %d", letter, name, c.ackCount(kind))
		}
	case "UNSUB":
		if len(names) == 0 {
			c.expectUnsubscribeAll(kind, letter)
		}
		for _, name := range names {
			delete(c.subs, simSub{kind, name})
			c.wantLine("%sunsubscribe %s %d", letter, name, c.ackCount(kind))
		}
	case "PUB":
		c.expectPublish(kind, names[0], names[1])
	case "PING":
		c.wantLine("+PONG")
	case "HELLO3":
		c.wantLine("+3")
	case "RESET":
		c.part(func(simSub) bool { return true })
		clear(c.subs)
		c.wantLine("+RESET")
	case "QUIT":
		c.dying = true
		c.wantLine("+OK")
	}
}

func (c *simClient) wantLine(format string, args ...any) {
	c.wantReply(simReply{line: fmt.Sprintf(format, args...)})
}

func (c *simClient) wantReply(r simReply) {
	c.want = append(c.want, r)
	c.asked++
}

// ackCount is the number that stands in an ack.
func (c *simClient) ackCount(kind channelstore.Kind) int {
	n := 0
	for sub := range c.subs {
		if (sub.kind == channelstore.ShardChannels) == (kind == channelstore.ShardChannels) {
			n++
		}
	}
	return n
}

// expectUnsubscribeAll is UNSUBSCRIBE without names: one ack for each, in any
// order.
func (c *simClient) expectUnsubscribeAll(kind channelstore.Kind, letter string) {
	var held []simSub
	for sub := range c.subs {
		if sub.kind == kind {
			held = append(held, sub)
		}
	}
	if len(held) == 0 {
		c.wantLine("%sunsubscribe (none) %d", letter, c.ackCount(kind))
	}
	c.part(func(sub simSub) bool { return sub.kind == kind })
	for _, sub := range held {
		delete(c.subs, sub)
		c.wantLine("%sunsubscribe * %d", letter, c.ackCount(kind))
	}
}

// part notes what is dropped over several turns, because it is more than one
// takes.
func (c *simClient) part(dropped func(simSub) bool) {
	if len(c.subs) <= sliceNames {
		return
	}
	for sub := range c.subs {
		if dropped(sub) {
			c.parting[sub] = c.asked
		}
	}
}

// expectPublish is what a PUBLISH owes to whom.
func (c *simClient) expectPublish(kind channelstore.Kind, channel, payload string) {
	id, _ := strconv.Atoi(payload)
	c.number++
	m := &simMessage{id: id, from: c, number: c.number, handled: c.sim.step, answered: -1}
	c.sim.byID[id] = m
	for _, to := range c.sim.clients {
		if to.gone {
			continue
		}
		receives := func(sub simSub) bool {
			return sub.kind == kind && sub.name == channel ||
				kind == channelstore.Channels && sub.kind == channelstore.Patterns && strings.Contains(simPatterns[sub.name], channel)
		}
		for sub := range to.subs {
			if receives(sub) {
				m.hi++
				if !to.dying {
					m.lo++
				}
				to.owed[simDelivery{id, sub}] = true
			}
		}
		for sub := range to.parting {
			if receives(sub) {
				m.hi++
				to.mayGet[simDelivery{id, sub}] = true
			}
		}
	}
	c.wantReply(simReply{message: m})
}

// receive takes bytes that the broker has written and looks at every value
// that is complete.
func (c *simClient) receive(b []byte) {
	if c.sim.transcribe {
		fmt.Fprintf(&c.transcript, "%d:%q ", c.sim.step, b)
	}
	c.got = append(c.got, b...)
	for {
		fields, n, err := parseFlat(c.got)
		if err != nil {
			c.sim.fail("client %d received %q: %v", c.id, c.got, err)
			return
		}
		if n == 0 {
			return
		}
		c.got = c.got[n:]
		c.take(fields)
	}
}

// parseFlat reads one reply: a line, or an array or push of bulk strings and
// numbers. n is 0 when b does not hold it whole.
func parseFlat(b []byte) (fields []string, n int, err error) {
	line := func() (string, bool) {
		at := bytes.Index(b[n:], []byte("\r\n"))
		if at < 0 {
			return "", false
		}
		s := string(b[n : n+at])
		n += at + 2
		return s, true
	}
	head, ok := line()
	if !ok {
		return nil, 0, nil
	}
	if head[0] != '*' && head[0] != '>' {
		return []string{head}, n, nil
	}
	count, err := strconv.Atoi(head[1:])
	if err != nil {
		return nil, 0, err
	}
	for range count {
		head, ok := line()
		if !ok {
			return nil, 0, nil
		}
		switch {
		case head == "_" || head == "$-1":
			fields = append(fields, "(none)")
		case head[0] == ':':
			fields = append(fields, head[1:])
		case head[0] == '$':
			size, err := strconv.Atoi(head[1:])
			if err != nil {
				return nil, 0, err
			}
			if len(b) < n+size+2 {
				return nil, 0, nil
			}
			fields = append(fields, string(b[n:n+size]))
			n += size + 2
		default:
			return nil, 0, fmt.Errorf("element %q", head)
		}
	}
	return fields, n, nil
}

// take compares one value with what the model allows.
func (c *simClient) take(fields []string) {
	switch fields[0] {
	case "message":
		c.takeMessage(simSub{channelstore.Channels, fields[1]}, fields[2])
		return
	case "smessage":
		c.takeMessage(simSub{channelstore.ShardChannels, fields[1]}, fields[2])
		return
	case "pmessage":
		c.takeMessage(simSub{channelstore.Patterns, fields[1]}, fields[3])
		return
	}
	got := strings.Join(fields, " ")
	if len(c.want) == 0 {
		c.sim.fail("client %d was told %q unasked", c.id, got)
		return
	}
	want, number := c.want[0], c.asked-len(c.want)
	c.want = c.want[1:]
	if m := want.message; m != nil {
		m.answered = c.sim.step
		n, err := strconv.Atoi(strings.TrimPrefix(got, ":"))
		if err != nil || got[0] != ':' || n < m.lo || n > m.hi {
			c.sim.fail("client %d: message %d was answered %q, want %d..%d (exact-count)", c.id, m.id, got, m.lo, m.hi)
		}
		return
	}
	if got == "+RESET" {
		clear(c.held)
		maps.DeleteFunc(c.parting, func(_ simSub, from int) bool { return from <= number })
	}
	if len(fields) == 3 {
		kind := channelstore.Channels
		switch fields[0][0] {
		case 'p':
			kind = channelstore.Patterns
		case 's':
			if strings.HasPrefix(fields[0], "ss") || strings.HasPrefix(fields[0], "sun") {
				kind = channelstore.ShardChannels
			}
		}
		sub := simSub{kind, fields[1]}
		leaves := strings.Contains(fields[0], "unsubscribe")
		if strings.Contains(want.line, " * ") && leaves && c.held[sub] {
			want.line = strings.Replace(want.line, "*", fields[1], 1)
		}
		c.held[sub] = !leaves
		if from, parting := c.parting[sub]; leaves && parting && from <= number {
			delete(c.parting, sub)
		}
	}
	if got != want.line {
		c.sim.fail("client %d was told %q, want %q", c.id, got, want.line)
	}
}

func (c *simClient) takeMessage(sub simSub, payload string) {
	id, _ := strconv.Atoi(payload)
	d := simDelivery{id, sub}
	m := c.sim.byID[id]
	switch {
	case m == nil:
		c.sim.fail("client %d received %q, which nobody sent", c.id, payload)
		return
	case !c.held[sub]:
		c.sim.fail("client %d received message %d by %v, which it does not hold (ack-first, no-late-message)", c.id, id, sub)
	case !c.owed[d] && !c.mayGet[d]:
		c.sim.fail("client %d received message %d by %v, for which it was not subscribed", c.id, id, sub)
	case c.arrived[d]:
		c.sim.fail("client %d received message %d by %v twice", c.id, id, sub)
	}
	c.arrived[d] = true
	if _, again := c.position[m]; !again {
		c.position[m] = len(c.order)
		c.order = append(c.order, m)
	}
}

// check looks at the whole run once it has come to rest.
func (sim *simulation) check() {
	for _, c := range sim.clients {
		if !c.dying {
			if len(c.want) > 0 {
				sim.fail("client %d still waits for %+v", c.id, c.want[0])
			}
			for d := range c.owed {
				if !c.arrived[d] {
					sim.fail("client %d never got message %d by %v", c.id, d.id, d.sub)
				}
			}
		}
		c.checkOrder()
	}
	for i, a := range sim.clients {
		for _, b := range sim.clients[:i] {
			last := -1
			for _, m := range a.order {
				at, shared := b.position[m]
				if !shared {
					continue
				}
				if at < last {
					sim.fail("clients %d and %d see message %d in different orders (total-order)", a.id, b.id, m.id)
				}
				last = at
			}
		}
	}
}

// checkOrder looks at the messages in the order in which they reached c.
func (c *simClient) checkOrder() {
	last := map[*simClient]int{}
	for _, m := range c.order {
		if m.number <= last[m.from] {
			c.sim.fail("client %d: message %d of client %d came after a later one (fifo)", c.id, m.id, m.from.id)
		}
		last[m.from] = m.number
	}
	// From the end: no message may come before one that was answered before
	// it was published.
	earliest := 1 << 30
	for i := len(c.order) - 1; i >= 0; i-- {
		m := c.order[i]
		if earliest < m.handled {
			c.sim.fail("client %d: message %d overtook one that was answered in step %d (causal)", c.id, m.id, earliest)
		}
		if m.answered >= 0 {
			earliest = min(earliest, m.answered)
		}
	}
}
