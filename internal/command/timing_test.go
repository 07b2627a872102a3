package command

import (
	"slices"
	"strings"
	"testing"
	"time"

	"broker/shard"
)

// spin keeps the loop busy.
func spin(loop *shard.Loop, d time.Duration) {
	for until := loop.Nanotime() + int64(d); loop.Nanotime() < until; {
	}
}

// keepAll makes the slow log keep commands from a threshold on.
func keepAll(d *Dispatcher, threshold time.Duration) {
	d.Configure(Runtime{SlowlogSlowerThan: threshold, SlowlogMaxLen: 100, LatencyTracking: true, LatencyPercentiles: []float64{50, 100}})
}

// slowed returns the command lines in the slow log, the oldest first.
func slowed(d *Dispatcher) []string {
	var out []string
	for _, e := range d.slowlog.newest(1000) {
		out = append(out, strings.Join(e.args, " "))
	}
	slices.Reverse(out)
	return out
}

// slowRow makes a command take time.
func slowRow(d *Dispatcher, name string, took time.Duration) {
	row := d.table.byFullName(name)
	was := row.run
	row.run = func(c *call) {
		spin(c.session.Loop(), took)
		was(c)
	}
}

// TestTiming_RunsAreJudgedByTheirAverage: a run of ten frequent commands is not
// slow when one of them takes as long as the threshold; one of two is, if that
// takes several times as long. The thresholds are set when it is known how long
// the commands took, before the run is closed.
func TestTiming_RunsAreJudgedByTheirAverage(t *testing.T) {
	onLoop(t, func(d *Dispatcher, s *shard.Session) {
		loop := s.Loop()
		echo := d.table.index["echo"]
		was := echo.run
		echo.run = func(c *call) {
			if string(c.args[1]) == "slow" {
				spin(loop, 5*time.Millisecond)
			}
			was(c)
		}
		judge := func(quick int, threshold func(took time.Duration) time.Duration) []string {
			keepAll(d, time.Hour)
			began := loop.Nanotime()
			for range quick {
				d.Handle(s, request("ECHO quick"))
			}
			d.Handle(s, request("ECHO slow"))
			keepAll(d, threshold(time.Duration(loop.Nanotime()-began)))
			d.EndRun(loop)
			return slowed(d)
		}
		if got := judge(9, func(took time.Duration) time.Duration { return took }); len(got) != 0 {
			t.Errorf("a run of ten is kept whose average is a tenth of the threshold: %q", got)
		}
		if got := judge(1, func(took time.Duration) time.Duration { return took / 4 }); !slices.Equal(got, []string{"ECHO quick"}) {
			t.Errorf("of a run of two with an average of twice the threshold is kept %q", got)
		}
		if h := loop.Local().(*local).times(echo.number); h.total != 12 || h.percentile(100) < int64(2*time.Millisecond) {
			t.Errorf("%d times, the largest %v", h.total, time.Duration(h.percentile(100)))
		}
	})
}

// TestTiming_BelowAMillisecondEveryCommandCounts, and so does one with many
// arguments, or one that is not frequent, at any threshold.
func TestTiming_BelowAMillisecondEveryCommandCounts(t *testing.T) {
	for _, tt := range []struct {
		name      string
		threshold time.Duration
		send      string
		want      int
	}{
		{"exact", exactBelow - 1, "ECHO x", 3},
		{"by run", exactBelow, "ECHO x", 1},
		{"many arguments", exactBelow, "SUNSUBSCRIBE a b c d e f g h", 3},
		{"few arguments", exactBelow, "SUNSUBSCRIBE a b c d e f g", 1},
		{"not frequent", exactBelow, "EXISTS x", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onLoop(t, func(d *Dispatcher, s *shard.Session) {
				keepAll(d, tt.threshold)
				slowRow(d, strings.ToLower(strings.Fields(tt.send)[0]), 3*time.Millisecond)
				for range 3 {
					d.Handle(s, request(tt.send))
				}
				d.EndRun(s.Loop())
				if got := slowed(d); len(got) != tt.want {
					t.Errorf("%d entries, want %d: %q", len(got), tt.want, got)
				}
			})
		})
	}
}

// TestTiming_UntilACommandIsFinished: DEBUG SLEEP has its time in the slow log,
// in commandstats and in the histogram, alone, in a transaction and for a
// session with replies switched off; EXEC has it in its time.
func TestTiming_UntilACommandIsFinished(t *testing.T) {
	srv := startServer(t, 2, func(cfg *Config) { cfg.DebugCommand = DebugEverybody })
	keepAll(srv.d, 5*time.Millisecond)
	c := srv.dial()
	const nap = "0.006"
	c.do("DEBUG", "SLEEP", nap)
	c.do("MULTI")
	c.do("DEBUG", "SLEEP", nap)
	c.do("PING", "behind")
	if got := c.do("EXEC"); got != "*2\r\n+OK\r\n"+bulk("behind") {
		t.Errorf("EXEC: %q", got)
	}
	c.send("CLIENT", "REPLY", "OFF")
	c.send("DEBUG", "SLEEP", nap)
	if got := c.do("CLIENT", "REPLY", "ON"); got != "+OK\r\n" {
		t.Errorf("CLIENT REPLY ON: %q", got)
	}
	sleeps := 0
	for _, line := range slowed(srv.d) {
		if line == "DEBUG SLEEP "+nap {
			sleeps++
		}
		if strings.HasPrefix(line, "EXEC") {
			t.Error("EXEC is in the slow log")
		}
	}
	if sleeps != 3 {
		t.Errorf("%d of 3 naps are in the slow log: %q", sleeps, slowed(srv.d))
	}
	_, stats := fields(t, text(t, c.do("INFO", "commandstats", "latencystats")))
	for name, calls := range map[string]string{"debug": "calls=3,usec=", "exec": "calls=1,usec="} {
		got, ok := strings.CutPrefix(stats["cmdstat_"+name], calls)
		if digits, _, _ := strings.Cut(got, ","); !ok || len(digits) < 4 {
			t.Errorf("commandstats of %s: %s", name, stats["cmdstat_"+name])
		}
		if got := stats["latency_percentiles_usec_"+name]; !strings.HasPrefix(got, "p50=") || !strings.Contains(got, ",p100=") {
			t.Errorf("latencystats of %s: %q", name, got)
		}
	}
	if got := c.do("CONFIG", "RESETSTAT"); got != "+OK\r\n" {
		t.Errorf("CONFIG RESETSTAT: %q", got)
	}
	if got := c.do("LATENCY", "HISTOGRAM", "debug", "exec"); got != "*0\r\n" {
		t.Errorf("after CONFIG RESETSTAT: %q", got)
	}
}

// TestSlowlog_IsBounded: the oldest entries go, the numbers go on, and a
// shorter limit holds from the next entry on.
func TestSlowlog_IsBounded(t *testing.T) {
	var l slowlog
	for range 5 {
		l.add(slowEntry{}, 3)
	}
	ids := func() (out []int64) {
		for _, e := range l.newest(100) {
			out = append(out, e.id)
		}
		return out
	}
	if got := ids(); !slices.Equal(got, []int64{4, 3, 2}) {
		t.Errorf("%v", got)
	}
	l.add(slowEntry{}, 1)
	if got := ids(); !slices.Equal(got, []int64{5}) {
		t.Errorf("%v", got)
	}
	l.reset()
	l.add(slowEntry{}, 3)
	if got := ids(); !slices.Equal(got, []int64{6}) {
		t.Errorf("%v", got)
	}
}

// TestSlowlog_OffKeepsNothing: neither without room nor with a negative
// threshold.
func TestSlowlog_OffKeepsNothing(t *testing.T) {
	onLoop(t, func(d *Dispatcher, s *shard.Session) {
		for _, r := range []Runtime{{SlowlogSlowerThan: 0}, {SlowlogSlowerThan: -1, SlowlogMaxLen: 9}} {
			d.Configure(r)
			if d.alerted(alertExact) {
				t.Errorf("%+v makes every command be timed", r)
			}
			run(d, s, request("EXISTS x"))
			run(d, s, request("PING"))
			d.EndRun(s.Loop())
			if got := slowed(d); len(got) > 0 {
				t.Errorf("%+v keeps %q", r, got)
			}
			if s.Loop().Local().(*local).histograms != nil {
				t.Errorf("%+v: histograms without latency-tracking", r)
			}
		}
	})
}
