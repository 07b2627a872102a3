package acl

import (
	"strings"
	"sync"
	"time"
)

// Context is where a command was refused.
type Context uint8

const (
	TopLevel Context = iota
	InMulti
)

// String returns the word that ACL LOG has for the context.
func (c Context) String() string { return [...]string{"toplevel", "multi"}[c] }

// An Event is something to log.
type Event struct {
	Reason  Reason
	Context Context

	// Object is the command or channel that was refused, or the command that
	// was to log in. It and User are cut at maxLogTextBytes.
	Object, User string

	// Client describes the client, in the form of CLIENT LIST.
	Client string
}

// A LogEntry is one or several equal events.
type LogEntry struct {
	Event            // Client is that of the last one
	Count            int64
	ID               int64
	Created, Updated time.Time // of the first and of the last event
}

// A Log holds the latest refusals. Any goroutine may call its methods.
type Log struct {
	now func() time.Time // immutable

	mu sync.Mutex
	// Guarded by mu.
	entries []LogEntry // by Updated, the latest last
	max     int        // of entries
	nextID  int64
}

const (
	// groupWithin is how far apart equal events may be to be one entry.
	groupWithin = 60 * time.Second

	// groupAmong is the number of entries among which an equal one is looked
	// for.
	groupAmong = 10
)

func newLog(max int, now func() time.Time) *Log { return &Log{max: max, now: now} }

// Add logs an event. An entry that equals it but for the client, and is not
// older than groupWithin, is counted up instead.
func (l *Log) Add(e Event) {
	e.Object, e.User = cut(e.Object), cut(e.User)
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.max == 0 {
		return
	}
	last := len(l.entries) - 1
	for i := last; i >= 0 && i > last-groupAmong; i-- {
		found := l.entries[i]
		if found.equals(e) && now.Sub(found.Updated).Abs() <= groupWithin {
			copy(l.entries[i:], l.entries[i+1:])
			found.Client, found.Updated = e.Client, now
			found.Count++
			l.entries[last] = found
			return
		}
	}
	l.entries = append(l.entries, LogEntry{Event: e, Count: 1, ID: l.nextID, Created: now, Updated: now})
	l.nextID++
	l.trimLocked()
}

// cut returns a copy of s that is no longer than the log keeps.
func cut(s string) string { return strings.Clone(s[:min(len(s), maxLogTextBytes)]) }

func (e *LogEntry) equals(o Event) bool {
	return e.Reason == o.Reason && e.Context == o.Context && e.Object == o.Object && e.User == o.User
}

// trimLocked forgets the oldest entries. The caller holds mu.
func (l *Log) trimLocked() {
	for n := len(l.entries) - l.max; n > 0; n-- {
		l.entries[0] = LogEntry{} // its texts may go before the array does
		l.entries = l.entries[1:]
	}
}

// Latest returns up to n entries, the latest first, and the time by which
// their age counts.
func (l *Log) Latest(n int) ([]LogEntry, time.Time) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	n = max(0, min(n, len(l.entries)))
	list := make([]LogEntry, n)
	for i := range list {
		list[i] = l.entries[len(l.entries)-1-i]
	}
	return list, now
}

// Reset forgets all entries. Numbers go on.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// Resize changes how many entries are kept (acllog-max-len).
func (l *Log) Resize(max int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.max = max
	l.trimLocked()
}
