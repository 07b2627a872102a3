package command

import (
	"fmt"
	"strconv"
	"strings"

	"broker/shard"
)

// A section is one part of INFO.
type section struct {
	name  string // what a client asks for, in lower case
	title string

	// optional: given on request and by "all" and "everything" only.
	optional bool

	// counted: needs the counters of all loops.
	counted bool

	// timed: needs the histograms of all loops.
	timed bool

	write func(*report)
}

func infoSections() []section {
	return []section{
		{name: "server", title: "Server", write: (*report).server},
		{name: "clients", title: "Clients", counted: true, write: (*report).clients},
		{name: "memory", title: "Memory", write: (*report).memory},
		{name: "persistence", title: "Persistence", write: (*report).persistence},
		{name: "stats", title: "Stats", counted: true, write: (*report).stats},
		{name: "replication", title: "Replication", write: (*report).replication},
		{name: "cpu", title: "CPU", write: (*report).cpu},
		{name: "modules", title: "Modules", write: func(*report) {}},
		{name: "commandstats", title: "Commandstats", optional: true, counted: true, write: (*report).commandStats},
		{name: "errorstats", title: "Errorstats", counted: true, write: (*report).errorStats},
		{name: "latencystats", title: "Latencystats", optional: true, timed: true, write: (*report).latencyStats},
		{name: "cluster", title: "Cluster", write: (*report).cluster},
		{name: "keyspace", title: "Keyspace", write: func(*report) {}},
		{name: "broker", title: "Broker", counted: true, write: (*report).broker},
	}
}

// chooseSections returns the sections that the arguments of INFO ask for, each
// once, in the order of the table. Unknown names ask for nothing.
func chooseSections(names [][]byte) []section {
	wanted := map[string]bool{}
	standard, all := len(names) == 0, false
	for _, n := range names {
		switch {
		case is(n, "DEFAULT"):
			standard = true
		case is(n, "ALL"), is(n, "EVERYTHING"):
			all = true
		case len(n) <= maxNameBytes:
			wanted[strings.ToLower(string(n))] = true
		}
	}
	var chosen []section
	for _, s := range infoSections() {
		if all || standard && !s.optional || wanted[s.name] {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// A report is an INFO reply in the making.
type report struct {
	d       *Dispatcher
	session *shard.Session
	total   totals
	times   []*histogram // by command.number; nil unless a section needs them
	text    strings.Builder
}

// totals are the counters of all loops together.
type totals struct {
	shard  shard.Stats
	loops  []shard.Stats // by shard, once they are added up
	queued shard.Queued
	gauges gauges
	counts counters
}

// An infoPart is what INFO learns from one loop.
type infoPart struct {
	totals
	times []*histogram
}

// info answers INFO. Loops are asked only when a section needs their counters.
func (c *call) info() {
	d, s := c.d, c.session
	sections := chooseSections(c.args[1:])
	counted, timed := false, false
	for _, section := range sections {
		counted = counted || section.counted
		timed = timed || section.timed
	}
	if !counted && !timed {
		s.Reply().Verbatim("txt", d.report(s, sections, totals{}, nil))
		return
	}
	shard.Gather(s, func(l *shard.Loop) infoPart {
		own := l.Local().(*local)
		p := infoPart{totals: totals{shard: since(l.Stats(), own.base), queued: l.Queued(), gauges: gaugesOf(l), counts: own.clone()}}
		if timed {
			p.times = cloneHistograms(l)
		}
		return p
	}, func(parts []infoPart) {
		var times []*histogram
		if timed {
			all := make([][]*histogram, len(parts))
			for i := range parts {
				all[i] = parts[i].times
			}
			times = mergeHistograms(all)
		}
		total := parts[0].totals
		for i := range parts {
			total.loops = append(total.loops, parts[i].shard)
		}
		for i := range parts[1:] {
			total.shard.Add(parts[1+i].shard)
			total.queued.Add(parts[1+i].queued)
			total.gauges.add(parts[1+i].gauges)
			total.counts.add(&parts[1+i].counts)
		}
		s.Reply().Verbatim("txt", d.report(s, sections, total, times))
	})
}

// report writes sections in Redis's format: a blank line between two.
func (d *Dispatcher) report(s *shard.Session, sections []section, total totals, times []*histogram) string {
	r := &report{d: d, session: s, total: total, times: times}
	for i, section := range sections {
		if i > 0 {
			r.text.WriteString("\r\n")
		}
		r.text.WriteString("# " + section.title + "\r\n")
		section.write(r)
	}
	return r.text.String()
}

// line writes one field. An operating system's or a client's text cannot
// forge another.
func (r *report) line(name, value string) {
	r.text.WriteString(name)
	r.text.WriteByte(':')
	r.text.WriteString(strings.NewReplacer("\r", " ", "\n", " ").Replace(value))
	r.text.WriteString("\r\n")
}

func (r *report) int(name string, value int64) { r.line(name, strconv.FormatInt(value, 10)) }

func (r *report) float(name string, value float64, decimals int) {
	r.line(name, strconv.FormatFloat(value, 'f', decimals, 64))
}

// bytes writes a size, and once more for people.
func (r *report) bytes(name string, size int64) {
	r.int(name, size)
	r.line(name+"_human", humanBytes(size))
}

// humanBytes is Redis's format: "1.50M".
func humanBytes(size int64) string {
	if size < 1<<10 {
		return strconv.FormatInt(size, 10) + "B"
	}
	value := float64(size) / (1 << 10)
	unit := 0
	for value >= 1<<10 && unit < len(byteUnits)-1 {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.2f%c", value, byteUnits[unit])
}

const byteUnits = "KMGTP"

// zeros writes fields that are zero by the nature of this server: what they
// count does not exist here. Clients and exporters expect to find them.
func (r *report) zeros(names ...string) {
	for _, name := range names {
		r.line(name, "0")
	}
}
