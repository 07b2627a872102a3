package harness

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Normal brings what one connection received during a step into the form in
// which two servers that are both right agree. own says that the connection is
// the one that sent the step. Bytes that are no RESP are left alone. The result
// shares nothing with got unless it is got.
func Normal(step Step, own bool, got []byte) []byte {
	values, err := ParseAll(got)
	if err != nil {
		return got
	}
	values = sortPatternMessages(values)
	if own {
		values = pushesLast(values)
		values = sortUnsubscribedAll(step, values)
		command := commandOf(step)
		for i := range values {
			values[i] = normalReply(command, values[i])
		}
	}
	var out []byte
	for _, v := range values {
		out = v.Append(out)
	}
	return out
}

// commandOf returns the words of a step that is one multibulk command, in lower
// case and joined by blanks; "" for any other.
func commandOf(step Step) string {
	v, n, err := ParseValue(step.Send)
	if err != nil || n != len(step.Send) || v.Type != '*' {
		return ""
	}
	var words []string
	for _, e := range v.Elems {
		words = append(words, strings.ToLower(e.Text))
	}
	return strings.Join(words, " ")
}

// isMessage reports whether v is a message, as opposed to an ack or a reply.
func isMessage(v Value) bool {
	kind, _, ok := v.Message()
	return ok && strings.HasSuffix(kind, "message")
}

// sortPatternMessages sorts the copies of one message that reach a connection
// by several patterns: Redis walks a hash table.
func sortPatternMessages(values []Value) []Value {
	same := func(a, b Value) bool {
		ka, ra, _ := a.Message()
		kb, rb, _ := b.Message()
		return ka == "pmessage" && kb == "pmessage" &&
			ra[1].Text == rb[1].Text && ra[2].Text == rb[2].Text && ra[0].Text != rb[0].Text
	}
	for i := 0; i < len(values); {
		j := i + 1
		for j < len(values) && same(values[i], values[j]) {
			j++
		}
		slices.SortStableFunc(values[i:j], func(a, b Value) int {
			return strings.Compare(a.Elems[1].Text, b.Elems[1].Text)
		})
		i = j
	}
	return values
}

// pushesLast moves the messages that a connection receives while its own
// command is answered behind the answers: Redis 7.0 sends a message to the
// publisher itself before PUBLISH's reply, later versions after it.
func pushesLast(values []Value) []Value {
	var replies, messages []Value
	for _, v := range values {
		if v.Type == '>' && isMessage(v) {
			messages = append(messages, v)
		} else {
			replies = append(replies, v)
		}
	}
	return append(replies, messages...)
}

// sortUnsubscribedAll sorts the names in the frames of an unsubscribe from
// everything and leaves the counts where they are: the order of the names is
// unspecified, the order of the counts is not.
func sortUnsubscribedAll(step Step, values []Value) []Value {
	switch commandOf(step) {
	case "unsubscribe", "punsubscribe", "sunsubscribe":
	default:
		return values
	}
	var names []string
	var at []int
	for i, v := range values {
		if kind, rest, ok := v.Message(); ok && strings.HasSuffix(kind, "unsubscribe") && !rest[0].Null {
			names, at = append(names, rest[0].Text), append(at, i)
		}
	}
	slices.Sort(names)
	for k, i := range at {
		values[i].Elems[1].Text = names[k]
	}
	return values
}

// normalReply brings the reply of one command into its normal form.
func normalReply(command string, v Value) Value {
	switch {
	case strings.HasPrefix(command, "pubsub channels"),
		strings.HasPrefix(command, "pubsub shardchannels"),
		strings.HasPrefix(command, "command list"):
		if v.Type == '*' {
			sortValues(v.Elems)
		}
	case strings.HasPrefix(command, "hello"):
		for i := 0; i+1 < len(v.Elems); i += 2 {
			switch v.Elems[i].Text {
			case "version":
				v.Elems[i+1].Text = "x.y.z"
			case "id":
				v.Elems[i+1].Text = "1"
			}
		}
	case strings.HasPrefix(command, "client id"):
		if v.Type == ':' {
			v.Text = "1"
		}
	case strings.HasPrefix(command, "client info"), strings.HasPrefix(command, "client list"):
		if v.Type == '$' || v.Type == '=' {
			v.Text = normalClients(v.Text)
		}
	case strings.HasPrefix(command, "config get"):
		sortPairs(v.Elems)
	case strings.HasPrefix(command, "command info"):
		normalCommandInfo(&v)
	}
	return v
}

func sortValues(vs []Value) {
	slices.SortFunc(vs, func(a, b Value) int { return bytes.Compare(a.Append(nil), b.Append(nil)) })
}

// sortPairs sorts the pairs of a flat list of names and values by name.
func sortPairs(vs []Value) {
	var pairs [][2]Value
	for i := 0; i+1 < len(vs); i += 2 {
		pairs = append(pairs, [2]Value{vs[i], vs[i+1]})
	}
	slices.SortStableFunc(pairs, func(a, b [2]Value) int { return strings.Compare(a[0].Text, b[0].Text) })
	for i, p := range pairs {
		vs[2*i], vs[2*i+1] = p[0], p[1]
	}
}

// clientField matches one field of a line of CLIENT LIST.
var clientField = regexp.MustCompile(`([a-z-]+)=(\S*)`)

// comparedClientFields are the fields of CLIENT LIST whose values depend on
// the conversation alone.
var comparedClientFields = []string{"name", "flags", "db", "sub", "psub", "ssub", "multi", "cmd", "user", "redir", "resp"}

// normalClients reduces the lines of CLIENT LIST to the fields that must
// agree, sorted by the rest of the line: connections are accepted in the order
// of their first use, but served by different shards.
func normalClients(text string) string {
	// A verbatim string carries its format in front.
	text = strings.TrimPrefix(text, "txt:")
	var lines []string
	for line := range strings.Lines(text) {
		var kept []string
		for _, f := range clientField.FindAllStringSubmatch(line, -1) {
			if slices.Contains(comparedClientFields, f[1]) {
				kept = append(kept, f[0])
			}
		}
		lines = append(lines, strings.Join(kept, " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// normalCommandInfo sorts the flags and categories of COMMAND INFO, which are
// sets, and the subcommands, of which the broker has fewer.
func normalCommandInfo(v *Value) {
	for i := range v.Elems {
		entry := v.Elems[i].Elems
		if len(entry) < 10 {
			continue
		}
		sortValues(entry[2].Elems)
		sortValues(entry[6].Elems)
		sortValues(entry[9].Elems)
		normalCommandInfo(&entry[9])
	}
}
