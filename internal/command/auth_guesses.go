package command

import (
	"net/netip"
	"sync"
	"time"
)

// guesses slow down who guesses passwords, by address, however many
// connections come from there.
//
// Two things are counted. Failures in a row: the first ones are answered at
// once, each further one later than the one before, until a login succeeds or
// nothing has failed for a while. And the rate of failures, which a success
// now and then does not reset: a password is only looked at when there is a
// token for the address, and a login that succeeds gives its token back. So
// any number of clients that know their passwords get in at once, and whoever
// does not know one tries at most tokenBurst + tokensPerSecond in a second. A
// client without a token waits for one, up to maxGuessWait, and is then
// turned away without a look at what it sent.
//
// An address costs something only while it has failures; there are at most
// maxGuessers.
type guesses struct {
	mu sync.Mutex
	// Guarded by mu.
	from map[netip.Addr]*guesser
}

type guesser struct {
	failures int       // in a row
	last     time.Time // when one failed
	tokens   float64   // below 0: promised to those who wait
	counted  time.Time // when tokens was right
}

const (
	freeFailures   = 5
	firstDelay     = 100 * time.Millisecond
	maxDelay       = 2 * time.Second
	quietPeriod    = time.Minute
	tokenBurst     = 5.0
	tokensPerSec   = 15.0
	maxGuessWait   = 2 * time.Second
	maxGuessers    = 1 << 16
	guessersLooked = 32 // of a full table, to find one to forget
)

func newGuesses() *guesses { return &guesses{from: map[netip.Addr]*guesser{}} }

// begin asks to check a password. It returns how long to wait before that, or
// false when that is too long. Who has asked owes succeeded or failed, unless
// the client goes away.
func (g *guesses) begin(from netip.Addr, now time.Time) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.from[from]
	if q == nil {
		q = &guesser{tokens: tokenBurst, counted: now}
		g.makeRoomLocked(now)
		g.from[from] = q
	}
	q.refill(now)
	if q.tokens < 1 {
		wait = time.Duration((1 - q.tokens) / tokensPerSec * float64(time.Second))
	}
	if wait > maxGuessWait {
		return 0, false
	}
	q.tokens--
	return wait, true
}

// succeeded ends what begin began.
func (g *guesses) succeeded(from netip.Addr, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.from[from]
	if q == nil {
		return
	}
	q.refill(now)
	q.failures = 0
	q.tokens = min(q.tokens+1, tokenBurst)
	if q.tokens == tokenBurst {
		delete(g.from, from)
	}
}

// failed ends what begin began. It returns how long to wait before the client
// is told.
func (g *guesses) failed(from netip.Addr, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.from[from]
	if q == nil {
		return 0 // forgotten meanwhile, because the table is full
	}
	if now.Sub(q.last) > quietPeriod {
		q.failures = 0
	}
	q.last = now
	q.failures++
	if q.failures <= freeFailures {
		return 0
	}
	delay := firstDelay
	for i := freeFailures + 1; i < q.failures && delay < maxDelay; i++ {
		delay *= 2
	}
	return min(delay, maxDelay)
}

func (q *guesser) refill(now time.Time) {
	q.tokens = min(tokenBurst, q.tokens+now.Sub(q.counted).Seconds()*tokensPerSec)
	q.counted = now
}

// makeRoomLocked forgets an address when the table is full: one that has been
// quiet, or of a few, taken at random, the one that has for the longest time.
// The caller holds mu.
func (g *guesses) makeRoomLocked(now time.Time) {
	if len(g.from) < maxGuessers {
		return
	}
	var oldest netip.Addr
	var since time.Time
	looked := 0
	for from, q := range g.from {
		if now.Sub(q.counted) > quietPeriod {
			delete(g.from, from)
			continue
		}
		if looked == 0 || q.counted.Before(since) {
			oldest, since = from, q.counted
		}
		if looked++; looked == guessersLooked {
			break
		}
	}
	if len(g.from) >= maxGuessers {
		delete(g.from, oldest)
	}
}
