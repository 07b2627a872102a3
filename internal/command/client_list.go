package command

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"broker/shard"
)

// clientList answers CLIENT LIST. Every loop writes the lines of its own
// sessions; they are merged in the order of the ids.
func (c *call) clientList() {
	args := c.args[2:]
	var want func(*shard.Session) bool
	switch {
	case len(args) == 0:
		want = func(*shard.Session) bool { return true }
	case len(args) == 2 && is(args[0], "TYPE"):
		kind, ok := clientType(args[1])
		if !ok {
			c.fail(unknownClientType(args[1]))
			return
		}
		want = func(s *shard.Session) bool { return hasType(s, kind) }
	case len(args) > 1 && is(args[0], "ID"):
		c.clientListByID(args[1:])
		return
	default:
		c.fail(errSyntax)
		return
	}
	s := c.session
	shard.Gather(s, func(l *shard.Loop) listing {
		var out listing
		l.Sessions(func(o *shard.Session) bool {
			if want(o) {
				out.add(o, l)
			}
			return true
		})
		return out
	}, func(parts []listing) {
		writeListing(s, merge(parts))
	})
}

// clientListByID lists the named sessions that exist, each once, in the order
// of the arguments.
func (c *call) clientListByID(words [][]byte) {
	if len(words) > maxNames {
		c.fail(errTooManyNames)
		return
	}
	place := make(map[uint64]int, len(words)) // position in the answer
	for _, word := range words {
		id, ok := parseInt(word)
		if !ok {
			c.fail(errClientID)
			return
		}
		if _, repeated := place[uint64(id)]; id > 0 && !repeated {
			place[uint64(id)] = len(place)
		}
	}
	s := c.session
	shard.Gather(s, func(l *shard.Loop) listing {
		var out listing
		l.Sessions(func(o *shard.Session) bool {
			if _, ok := place[o.ID()]; ok {
				out.add(o, l)
			}
			return true
		})
		return out
	}, func(parts []listing) {
		lines := merge(parts)
		slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(place[a.id], place[b.id]) })
		writeListing(s, lines)
	})
}

// A listing is one loop's part of a client list: the lines of its sessions,
// one behind the other.
type listing struct {
	text []byte
	ids  []uint64
	ends []int // in text, one per id
}

func (l *listing) add(s *shard.Session, loop *shard.Loop) {
	l.text = appendClientLine(l.text, s, loop)
	l.ids = append(l.ids, s.ID())
	l.ends = append(l.ends, len(l.text))
}

type line struct {
	id   uint64
	text []byte
}

// merge returns the lines of all parts in the order of the ids.
func merge(parts []listing) []line {
	var lines []line
	for i := range parts {
		start := 0
		for j, end := range parts[i].ends {
			lines = append(lines, line{parts[i].ids[j], parts[i].text[start:end]})
			start = end
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.id, b.id) })
	return lines
}

func writeListing(s *shard.Session, lines []line) {
	size := 0
	for _, l := range lines {
		size += len(l.text)
	}
	var text strings.Builder
	text.Grow(size)
	for _, l := range lines {
		text.Write(l.text)
	}
	s.Reply().Verbatim("txt", text.String())
}

// appendClientLine appends the session's line with Redis 8.0's fields in their
// order. io-thread is the number of the shard.
func appendClientLine(b []byte, s *shard.Session, loop *shard.Loop) []byte {
	in := s.Info()
	now := loop.Now()
	text := func(name, value string) {
		b = append(b, name...)
		b = append(b, value...)
	}
	number := func(name string, value int64) {
		b = append(b, name...)
		b = strconv.AppendInt(b, value, 10)
	}
	number("id=", int64(in.ID))
	text(" addr=", in.Addr)
	text(" laddr=", in.LocalAddr)
	number(" fd=", int64(in.FD))
	text(" name=", in.Attrs.Name)
	number(" age=", max(0, int64(now.Sub(in.Created).Seconds())))
	number(" idle=", max(0, int64(now.Sub(in.LastActive).Seconds())))
	text(" flags=", clientFlags(&in))
	number(" db=", int64(in.Attrs.DB))
	number(" sub=", int64(in.Sub))
	number(" psub=", int64(in.PSub))
	number(" ssub=", int64(in.SSub))
	queued, queuedBytes := int64(-1), int64(0)
	watched := 0
	if st := stateOf(s); st != nil {
		watched = len(st.watched)
		if st.tx != nil {
			queued, queuedBytes = int64(len(st.tx.queue)), st.tx.bytes
		}
	}
	number(" multi=", queued)
	number(" watch=", int64(watched))
	number(" qbuf=", int64(in.QueryBuf))
	number(" qbuf-free=", int64(in.QueryBufFree))
	text(" argv-mem=0", "")
	number(" multi-mem=", queuedBytes)
	text(" rbs=0 rbp=0", "")
	number(" obl=", int64(in.OutBufLen))
	number(" oll=", int64(in.OutListLen))
	number(" omem=", in.OutMem)
	number(" tot-mem=", in.TotMem)
	text(" events=", clientEvents(&in))
	text(" cmd=", cmp.Or(in.LastCommand, "NULL"))
	text(" user=", userName(s))
	number(" redir=", trackingOf(&in.Attrs).redirection())
	number(" resp=", int64(in.Proto))
	text(" lib-name=", in.Attrs.LibName)
	text(" lib-ver=", in.Attrs.LibVer)
	number(" io-thread=", int64(loop.Shard()))
	return append(b, '\n')
}

func clientFlags(in *shard.Info) string {
	var flags []byte
	st, _ := in.Attrs.State.(*connState)
	if st != nil && st.monitor {
		flags = append(flags, 'O')
	}
	if in.Sub+in.PSub+in.SSub > 0 {
		flags = append(flags, 'P')
	}
	if st != nil && st.tx != nil {
		flags = append(flags, 'x')
	}
	if st != nil && st.readonly {
		flags = append(flags, 'r')
	}
	if st != nil && st.postponed {
		flags = append(flags, 'b')
	}
	if t := trackingOf(&in.Attrs); t != nil {
		flags = append(flags, 't')
		if t.broadcast {
			flags = append(flags, 'B')
		}
	}
	for _, f := range []struct {
		set    bool
		letter byte
	}{{in.Closing, 'c'}, {in.Unix, 'U'}, {in.Attrs.NoEvict, 'e'}, {in.Attrs.NoTouch, 'T'}} {
		if f.set {
			flags = append(flags, f.letter)
		}
	}
	if len(flags) == 0 {
		return "N"
	}
	return string(flags)
}

func clientEvents(in *shard.Info) string {
	switch {
	case in.Readable && in.Writable:
		return "rw"
	case in.Readable:
		return "r"
	case in.Writable:
		return "w"
	}
	return ""
}
