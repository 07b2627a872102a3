package command

import (
	"strconv"
	"time"

	"broker/shard"
)

// MONITOR.
//
// Each loop keeps the monitoring sessions that it owns. A command makes one
// line, which monitors of the same loop get at once and others with the next
// batch of lines: one message to each loop per turn, not one per command.
//
// A monitor is never waited for: its output limit is that of replicas, which
// are fed without asking too.

// monitors are the part of one loop.
type monitors struct {
	sessions []*shard.Session // of this loop, monitoring or just ended
	lines    []byte           // for the other loops, not sent yet
}

// monitor answers MONITOR.
func (c *call) monitor() {
	s := c.session
	st := ensureState(s)
	if st.monitor {
		return // as Redis: no second answer
	}
	st.monitor = true
	s.SetExempt(true)
	c.local.monitors.sessions = append(c.local.monitors.sessions, s)
	c.d.monitorCount.Add(1)
	c.d.updateMonitorAlert()
	remark(s)
	c.reply().OK()
}

// stopMonitoring is called when a session ends or is reset.
func (d *Dispatcher) stopMonitoring(s *shard.Session) {
	st := stateOf(s)
	if st == nil || !st.monitor {
		return
	}
	st.monitor = false
	s.SetExempt(false)
	m := &s.Loop().Local().(*local).monitors
	for i, o := range m.sessions {
		if o == s {
			m.sessions = append(m.sessions[:i], m.sessions[i+1:]...)
			break
		}
	}
	d.monitorCount.Add(-1)
	d.updateMonitorAlert()
}

// updateMonitorAlert raises or clears the alert by the number of monitors.
func (d *Dispatcher) updateMonitorAlert() {
	d.mu.Lock()
	d.setAlert(alertMonitor, d.monitorCount.Load() > 0)
	d.mu.Unlock()
}

// feed tells monitors of a command that has run. Administrative commands are
// not shown, as they may hold secrets; those of others are redacted.
func (d *Dispatcher) feed(s *shard.Session, l *local, cmd *command, args [][]byte) {
	if cmd.flags&(flagSkipMonitor|flagAdmin) != 0 {
		return
	}
	from := len(l.monitors.lines)
	l.monitors.lines = appendMonitorLine(l.monitors.lines, time.Now(), s, shownArgs(cmd, args))
	for _, m := range l.monitors.sessions {
		m.Push(l.monitors.lines[from:])
	}
	if from == 0 {
		s.Loop().Post(func(loop *shard.Loop) {
			lines := append([]byte(nil), l.monitors.lines...)
			l.monitors.lines = l.monitors.lines[:0]
			loop.Tell(func(o *shard.Loop) {
				if o == loop {
					return
				}
				for _, m := range o.Local().(*local).monitors.sessions {
					m.Push(lines)
				}
			})
		})
	}
}

// appendMonitorLine appends a command as MONITOR shows it: a simple string of
// the time, database and address, and the quoted words.
func appendMonitorLine(b []byte, now time.Time, s *shard.Session, args [][]byte) []byte {
	b = append(b, '+')
	b = strconv.AppendInt(b, now.Unix(), 10)
	b = append(b, '.')
	micros := strconv.Itoa(now.Nanosecond() / 1000)
	b = append(b, "000000"[len(micros):]...)
	b = append(b, micros...)
	b = append(b, " ["...)
	b = strconv.AppendInt(b, int64(s.Peek().DB), 10)
	b = append(b, ' ')
	b = append(b, s.Addr()...)
	b = append(b, ']')
	for _, a := range args {
		b = append(b, ' ')
		b = appendQuoted(b, a)
	}
	return append(b, "\r\n"...)
}

// appendQuoted appends word in double quotes with C's escapes, as Redis's
// sdscatrepr.
func appendQuoted(b, word []byte) []byte {
	b = append(b, '"')
	for _, c := range word {
		switch {
		case c == '\\' || c == '"':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\a':
			b = append(b, `\a`...)
		case c == '\b':
			b = append(b, `\b`...)
		case c >= ' ' && c < 0x7f:
			b = append(b, c)
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		}
	}
	return append(b, '"')
}
