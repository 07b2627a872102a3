package main

import (
	"strings"
	"testing"
)

// twoContenders is a result of two runs each, summarized.
func twoContenders(w workload, broker, peer []sample) result {
	r := result{Workload: w, Series: []series{{Contender: "broker", Samples: broker}, {Contender: "peer", Samples: peer}}}
	r.summarize()
	return r
}

func printed(t *testing.T, r result) string {
	t.Helper()
	var b strings.Builder
	if err := r.print(&b, "broker"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// row returns the fields of the table's row that begins with name.
func row(t *testing.T, table, name string) []string {
	t.Helper()
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			return fields
		}
	}
	t.Fatalf("no row %s in:\n%s", name, table)
	return nil
}

func TestSample_Measures(t *testing.T) {
	s := sample{
		Seconds: 2, Ops: 1000, Deliveries: 4000, ServerCPUSeconds: 1, ContextSwitches: 50,
		RSSGrowthBytes: 10 << 20, P50Micros: 33,
	}
	for by, want := range map[measure]float64{
		cpuPerOp: 1000, cpuPerDelivery: 250, latencyP50: 33, memoryPerConn: 10.24, memoryGrowth: 10,
	} {
		if s.measureBy(by); s.Value != want {
			t.Errorf("%s: %v, want %v", by, s.Value, want)
		}
	}
	if s.opsPerSecond() != 500 || s.switchesPer1000() != 50 || s.serverCores() != 0.5 {
		t.Errorf("%v ops/s, %v switches per 1000, %v cores", s.opsPerSecond(), s.switchesPer1000(), s.serverCores())
	}
	var none sample
	if none.opsPerSecond() != 0 || none.switchesPer1000() != 0 || none.serverCores() != 0 || none.cpuMicrosPer(0) != 0 {
		t.Error("an empty sample divides by zero")
	}
}

func TestResult_RatioOfNeighbours(t *testing.T) {
	w := workload{Name: "W", Title: "title", By: cpuPerOp}
	table := printed(t, twoContenders(w,
		[]sample{{Value: 1, Seconds: 1, Ops: 100}, {Value: 10, Seconds: 1, Ops: 100}, {Value: 1, Seconds: 1, Ops: 100}},
		[]sample{{Value: 2, Seconds: 1, Ops: 50}, {Value: 40, Seconds: 1, Ops: 50}, {Value: 3, Seconds: 1, Ops: 50}}))
	got := row(t, table, "peer")
	if want := []string{"3.00", "2.00", "4.00"}; strings.Join(got[len(got)-3:], " ") != strings.Join(want, " ") {
		t.Errorf("ratio %v, want median, min, max %v in\n%s", got, want, table)
	}
	if got := row(t, table, "broker"); got[len(got)-1] != "0.0" {
		t.Errorf("the first contender has a ratio: %v", got)
	}
}

func TestResult_Warnings(t *testing.T) {
	quiet := []sample{{Value: 1, Seconds: 1, Ops: 100, GeneratorCores: 0.89, ForeignCores: 0.05, StealCores: 0.04}}
	busy := []sample{{Value: 1, Seconds: 1, Ops: 100, GeneratorCores: 0.91, ForeignCores: 0.2, TCPPressures: 1}}
	table := printed(t, twoContenders(workload{By: cpuPerOp}, quiet, busy))
	if !strings.Contains(table, "≥100") || !strings.Contains(table, "peer: the generator was above 0.9 of its core") {
		t.Errorf("a generator at its limit is not marked:\n%s", table)
	}
	if !strings.Contains(table, "peer: others used 0.20 cores") {
		t.Errorf("a disturbed run is not marked:\n%s", table)
	}
	if !strings.Contains(table, "peer: the kernel ran short") {
		t.Errorf("memory pressure is not marked:\n%s", table)
	}
	if strings.Contains(table, "broker: ") || strings.Count(table, "≥") != 1 {
		t.Errorf("a quiet run is marked:\n%s", table)
	}
}

func TestResult_Floor(t *testing.T) {
	w := workload{By: memoryGrowth}
	small, cut := []sample{{Value: 10, Seconds: 1, Ops: 9}}, []sample{{Value: 2000, Seconds: 1, Ops: 3, Floor: true}}
	table := printed(t, twoContenders(w, small, cut))
	if got := row(t, table, "peer"); got[1] != "≥2000" || got[len(got)-3] != "≥200" {
		t.Errorf("a value cut at the limit is not marked: %v", got)
	}
	if r := twoContenders(w, cut, small); r.Series[1].Ratio != (spread{}) {
		t.Errorf("a ratio over a value that would have become larger: %v", r.Series[1].Ratio)
	}
}

func TestResult_FailureAndExclusion(t *testing.T) {
	r := result{Series: []series{
		{Contender: "broker", Failure: "it broke"},
		{Contender: "peer", Excluded: "it cannot", Caveat: "it differs"},
	}}
	r.summarize()
	table := printed(t, r)
	for _, want := range []string{"broker FAILED after 0 runs: it broke", "peer left out: it cannot", "peer: it differs"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is missing from\n%s", want, table)
		}
	}
}

func TestQuoteArgs(t *testing.T) {
	if got := quoteArgs([]string{"--save", "", "pubsub 0 0 0", "a'b", "W*", "plain"}); got != `--save '' 'pubsub 0 0 0' 'a'\''b' 'W*' plain` {
		t.Error(got)
	}
}

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{12345: "12345", 99.94: "99.9", 1.234: "1.23", 0.3456: "0.346", 0.0038: "0.0038", 0: "0"} {
		if got := figures(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
