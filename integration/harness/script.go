package harness

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Script is a conversation with a server: steps on named connections, opened
// at their first use. After every step everything that the server owes any of
// the connections is collected, so the same script has one right outcome on
// every server that promises the same order.
type Script struct {
	Name  string
	Steps []Step
}

// A Step is one thing that a client does.
type Step struct {
	Line   int    // in the script's file
	Conn   string // which connection does it
	Source string // as written
	Send   []byte
	How    StepKind
}

// StepKind is what is awaited after a step's bytes were sent.
type StepKind uint8

const (
	// Answered: the server answers and the connection lives.
	Answered StepKind = iota
	// Closes: the server answers, if at all, and closes the connection.
	Closes
	// Incomplete: the bytes are no whole command; nothing is awaited and
	// nothing is collected from this connection.
	Incomplete
	// Leaves: the client closes its end.
	Leaves
)

// ParseScripts reads a file of scripts. A line is one of
//
//	# comment
//	== name of the script that follows
//	a: SUBSCRIBE ch "with space" "\x00\r\n"   words, sent as one multibulk command
//	a| PING\r\n                               bytes, sent as they are
//	a! *1\r\n$-1\r\n                          bytes, after which the server closes
//	a~ *1\r\n$4\r\n                           bytes that are no whole command yet
//	a-                                        the client closes its end
//
// Words in double quotes and bytes take Go's escapes. \{N*text} in either
// stands for text N times.
func ParseScripts(fsys fs.FS, name string) ([]Script, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	var scripts []Script
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimLeft(lines.Text(), " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		if title, ok := strings.CutPrefix(line, "== "); ok {
			scripts = append(scripts, Script{Name: title})
			continue
		}
		step, err := parseStep(line)
		if err == nil && len(scripts) == 0 {
			err = fmt.Errorf("a step before the first == line")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		step.Line = n
		s := &scripts[len(scripts)-1]
		s.Steps = append(s.Steps, step)
	}
	return scripts, lines.Err()
}

func parseStep(line string) (Step, error) {
	at := strings.IndexAny(line, ":|!~-")
	if at < 1 {
		return Step{}, fmt.Errorf("no connection name in %q", line)
	}
	step := Step{Conn: line[:at], Source: line}
	rest := strings.TrimPrefix(line[at+1:], " ")
	switch line[at] {
	case ':':
		words, err := splitWords(rest)
		if err != nil {
			return Step{}, err
		}
		step.Send = AppendCommand(nil, words...)
		return step, nil
	case '-':
		step.How = Leaves
		return step, nil
	case '!':
		step.How = Closes
	case '~':
		step.How = Incomplete
	}
	raw, err := unescape(rest)
	step.Send = []byte(raw)
	return step, err
}

// splitWords splits at blanks; a word that starts with a double quote ends at
// the next unescaped one.
func splitWords(s string) ([]string, error) {
	var words []string
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		if s[0] != '"' {
			word, rest, _ := strings.Cut(s, " ")
			words, s = append(words, word), rest
			continue
		}
		end := 1
		for end < len(s) && s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(s) {
			return nil, fmt.Errorf("no closing quote in %s", s)
		}
		word, err := unescape(s[1:end])
		if err != nil {
			return nil, err
		}
		words, s = append(words, word), s[end+1:]
	}
	return words, nil
}

// unescape resolves Go's escapes and \{N*text}. A bare double quote stands for
// itself.
func unescape(s string) (string, error) {
	var out strings.Builder
	for s != "" {
		if rest, ok := strings.CutPrefix(s, `\{`); ok {
			count, rest, _ := strings.Cut(rest, "*")
			text, rest, closed := strings.Cut(rest, "}")
			n, err := strconv.Atoi(count)
			if err != nil || !closed {
				return "", fmt.Errorf("bad repetition in %s", s)
			}
			text, err = unescape(text)
			if err != nil {
				return "", err
			}
			out.WriteString(strings.Repeat(text, n))
			s = rest
			continue
		}
		if s[0] != '\\' {
			out.WriteByte(s[0])
			s = s[1:]
			continue
		}
		char, multibyte, tail, err := strconv.UnquoteChar(s, '"')
		if err != nil {
			return "", fmt.Errorf("bad escape in %s", s)
		}
		if multibyte {
			out.WriteRune(char)
		} else {
			out.WriteByte(byte(char))
		}
		s = tail
	}
	return out.String(), nil
}

// An Outcome is what the connections received during one step.
type Outcome struct {
	Step Step
	// Got holds the bytes by connection; a connection that got nothing is
	// absent.
	Got map[string][]byte
	// Closed names the connections that the server closed during the step.
	Closed []string
}

// String prints the outcome as a transcript: the step, then what each
// connection got, one line for each line on the wire.
func (o Outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", o.Step.Source)
	for _, conn := range slices.Sorted(maps.Keys(o.Got)) {
		for line := range bytes.Lines(o.Got[conn]) {
			fmt.Fprintf(&b, "    %s  %s\n", conn, Show(line))
		}
	}
	for _, conn := range o.Closed {
		fmt.Fprintf(&b, "    %s  closed\n", conn)
	}
	return b.String()
}

// A Player plays steps against one server, which it has for itself: its first
// connection waits until those of earlier Players are gone.
type Player struct {
	target *Target
	proto  int
	conns  map[string]*Conn
	closed map[string]bool // by the server, already reported
	half   map[string]bool // between two parts of a command: no barrier fits
}

// NewPlayer returns a Player without connections; each will speak RESP proto, 2
// or 3, from its first step on. Close it after use.
func NewPlayer(target *Target, proto int) *Player {
	return &Player{
		target: target, proto: proto,
		conns: map[string]*Conn{}, closed: map[string]bool{}, half: map[string]bool{},
	}
}

// Close closes all connections.
func (p *Player) Close() {
	for _, c := range p.conns {
		c.Close()
	}
	clear(p.conns)
	clear(p.closed)
	clear(p.half)
}

// awaitAlone waits until c is the server's only connection: what an earlier
// Player left behind must not be counted by anyone.
func awaitAlone(c *Conn) error {
	deadline := time.Now().Add(Patience)
	for {
		v, err := c.Do("CLIENT", "LIST")
		if err != nil {
			return err
		}
		if strings.Count(v.Text, "\n") == 1 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("connections that were closed are still listed after %v: %v", Patience, v)
		}
	}
}

// Play does one step and collects what all connections received: first its own
// connection, whose answer promises that the step's messages are on their way,
// then the others.
func (p *Player) Play(step Step) (Outcome, error) {
	out := Outcome{Step: step, Got: map[string][]byte{}}
	c := p.conns[step.Conn]
	if c == nil {
		var err error
		if c, err = Dial(p.target.Addr); err != nil {
			return out, err
		}
		p.conns[step.Conn] = c
		if len(p.conns) == 1 {
			if err := awaitAlone(c); err != nil {
				return out, fmt.Errorf("%s: %w", step.Conn, err)
			}
		}
		if p.proto == 3 {
			if v, err := c.Do("HELLO", "3"); err != nil || v.Type != '%' {
				return out, fmt.Errorf("%s: HELLO 3: %v %w", step.Conn, v, err)
			}
		}
	}
	if step.How == Leaves {
		c.Close()
		delete(p.conns, step.Conn)
		delete(p.closed, step.Conn)
		delete(p.half, step.Conn)
		return out, nil
	}
	// A server that closes may do so before it has taken everything.
	if err := c.Send(step.Send); err != nil && step.How != Closes {
		return out, err
	}
	switch step.How {
	case Incomplete:
		p.half[step.Conn] = true
		return out, nil
	case Closes:
		got, err := c.UntilClosed()
		p.note(&out, step.Conn, got)
		if err != nil {
			return out, err
		}
		p.closed[step.Conn] = true
		out.Closed = append(out.Closed, step.Conn)
	}
	delete(p.half, step.Conn)
	names := slices.Sorted(maps.Keys(p.conns))
	if step.How == Answered {
		names = slices.DeleteFunc(names, func(n string) bool { return n == step.Conn })
		names = slices.Insert(names, 0, step.Conn)
	}
	for _, name := range names {
		if p.closed[name] || p.half[name] {
			continue
		}
		got, err := p.conns[name].Barrier(nil)
		p.note(&out, name, got)
		if err != nil && p.conns[name].Ended() != nil {
			p.closed[name] = true
			out.Closed = append(out.Closed, name)
		} else if err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

func (p *Player) note(out *Outcome, conn string, got []byte) {
	if len(got) > 0 {
		out.Got[conn] = append(out.Got[conn], got...)
	}
}
