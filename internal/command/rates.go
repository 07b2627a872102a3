package command

import "time"

// minRatePeriod is the least time over which a rate is taken.
const minRatePeriod = time.Second

// rates remembers totals, so that INFO can give rates. Nothing samples in the
// background: a rate is the average since the last INFO that is at least
// minRatePeriod old, and before that since the start or CONFIG RESETSTAT. Who asks every few
// seconds, as monitoring does, gets the rate between its own questions.
type rates struct {
	from, to sample // from is at least minRatePeriod older than to
}

// begin makes at the time since when everything is counted from zero.
func (r *rates) begin(at time.Time) {
	r.from = sample{at: at}
	r.to = r.from
}

type sample struct {
	at                      time.Time
	commands, input, output int64 // totals; bytes
}

// sampleRates takes the current totals and returns commands and bytes in and
// out per second.
func (d *Dispatcher) sampleRates(now time.Time, commands, input, output int64) (ops, in, out float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &d.rates
	if r.to.at.IsZero() {
		r.begin(d.cfg.Started)
	}
	if now.Sub(r.to.at) >= minRatePeriod {
		r.from = r.to
		r.to = sample{now, commands, input, output}
	}
	seconds := max(now.Sub(r.from.at), minRatePeriod).Seconds()
	return float64(commands-r.from.commands) / seconds,
		float64(input-r.from.input) / seconds,
		float64(output-r.from.output) / seconds
}
