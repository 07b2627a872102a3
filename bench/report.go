package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// generatorLimit is the share of a core above which the generator may have
// been what limited the throughput.
const generatorLimit = 0.9

// foreignLimit is how many cores others may use during a run before its
// report carries a warning.
const foreignLimit = 0.1

// A report is everything one invocation found out.
type report struct {
	Command    string      `json:"command"`
	Started    string      `json:"started"` // RFC 3339
	Machine    machine     `json:"machine"`
	Placement  string      `json:"placement"`
	Runs       int         `json:"runs"`
	Seconds    float64     `json:"seconds_per_run"`
	Contenders []contender `json:"contenders"` // the first is what the others are compared with
	Skipped    []string    `json:"skipped,omitempty"`
	Results    []result    `json:"results"`
}

// A machine is what the numbers were measured on.
type machine struct {
	Kernel    string `json:"kernel"`
	CPU       string `json:"cpu"`
	CPUs      int    `json:"cpus"` // allowed to this process
	GoVersion string `json:"go"`
	Arch      string `json:"arch"`
}

// A result is one workload against all contenders.
type result struct {
	Workload workload `json:"workload"`
	// Series is by contender, in the report's order.
	Series []series `json:"series"`
}

// A series is the runs of one contender in one workload.
type series struct {
	Contender string   `json:"contender"`
	Samples   []sample `json:"samples"`
	// Failure says why the series is short, if it is.
	Failure string `json:"failure,omitempty"`
	// Excluded says why there is none.
	Excluded string `json:"excluded,omitempty"`
	// Caveat says why the work was not quite the same.
	Caveat string `json:"caveat,omitempty"`

	Value spread `json:"value"`
	Ops   spread `json:"ops_per_second"`
	// Ratio is Value over that of the report's first contender, as the spread
	// of the ratios of neighbouring runs. Zero for the first itself, and when a
	// run of the first was ended at a limit.
	Ratio spread `json:"ratio"`
	// RatioFloor is set when a run of this contender was ended at a limit, so
	// that the ratio is at least as large.
	RatioFloor bool `json:"ratio_floor,omitempty"`
}

// column returns f of each sample.
func (s *series) column(f func(*sample) float64) []float64 {
	out := make([]float64, len(s.Samples))
	for i := range s.Samples {
		out[i] = f(&s.Samples[i])
	}
	return out
}

func (s *series) median(f func(*sample) float64) float64 { return spreadOf(s.column(f)).Median }

func value(s *sample) float64 { return s.Value }

// summarize fills in the spreads and ratios of a result whose runs are over.
func (r *result) summarize() {
	for i := range r.Series {
		s := &r.Series[i]
		s.Value = spreadOf(s.column(value))
		s.Ops = spreadOf(s.column((*sample).opsPerSecond))
		for _, one := range s.Samples {
			s.RatioFloor = s.RatioFloor || one.Floor
		}
		if i > 0 && !r.Series[0].RatioFloor {
			s.Ratio = spreadOf(ratios(s.column(value), r.Series[0].column(value)))
		}
	}
}

// printHead writes what was compared with what and where.
func (r *report) printHead(w io.Writer) {
	fmt.Fprintf(w, "command    %s\n", r.Command)
	fmt.Fprintf(w, "started    %s\n", r.Started)
	fmt.Fprintf(w, "machine    %s, %d CPUs, %s, Linux %s, %s\n", r.Machine.CPU, r.Machine.CPUs, r.Machine.Arch, r.Machine.Kernel, r.Machine.GoVersion)
	fmt.Fprintf(w, "placement  %s\n", r.Placement)
	fmt.Fprintf(w, "runs       %d of %.3g s each, contenders in turn, a fresh server each\n", r.Runs, r.Seconds)
	for _, c := range r.Contenders {
		fmt.Fprintf(w, "%-10s %s\n%-10s %s %s\n", c.Name, c.Version, "", c.Path, quoteArgs(c.Args))
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(w, "skipped    %s\n", s)
	}
}

// quoteArgs joins arguments so that a shell would read them back.
func quoteArgs(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsAny(a, " '\"*?$\\") {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// print writes the table of one workload. first names the contender the ratios
// are over.
func (r *result) print(w io.Writer, first string) error {
	fmt.Fprintf(w, "\n%s  %s\n", r.Workload.Name, r.Workload.Title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	byCPU := r.Workload.By == cpuPerOp || r.Workload.By == cpuPerDelivery
	fmt.Fprintf(t, "\t%s\tmin\tmax\tops/s\tmin\tmax\t", r.Workload.By)
	if !byCPU {
		fmt.Fprintf(t, "%s\t", cpuPerOp)
	}
	if r.Workload.Drive == driveLockstep {
		fmt.Fprintf(t, "p50 µs\tp99 µs\t")
	}
	fmt.Fprintf(t, "server cores\tgen cores\tctxsw/1000\tRSS MiB\t/%s\tmin\tmax\t\n", first)
	for i := range r.Series {
		s := &r.Series[i]
		if len(s.Samples) == 0 {
			fmt.Fprintf(t, "%s\t-\t\n", s.Contender)
			continue
		}
		generator := s.median(func(s *sample) float64 { return s.GeneratorCores })
		throughput, floor := "", ""
		if generator > generatorLimit {
			throughput = "≥"
		}
		if s.RatioFloor {
			floor = "≥"
		}
		fmt.Fprintf(t, "%s\t%s%s\t%s\t%s\t%s%.0f\t%.0f\t%.0f\t", s.Contender,
			floor, figures(s.Value.Median), figures(s.Value.Min), figures(s.Value.Max),
			throughput, s.Ops.Median, s.Ops.Min, s.Ops.Max)
		if !byCPU {
			fmt.Fprintf(t, "%s\t", figures(s.median(func(s *sample) float64 { return s.cpuMicrosPer(s.Ops) })))
		}
		if r.Workload.Drive == driveLockstep {
			fmt.Fprintf(t, "%.1f\t%.1f\t", s.median(func(s *sample) float64 { return s.P50Micros }),
				s.median(func(s *sample) float64 { return s.P99Micros }))
		}
		fmt.Fprintf(t, "%.2f\t%.2f\t%.1f\t%.1f\t", s.median((*sample).serverCores), generator,
			s.median((*sample).switchesPer1000),
			s.median(func(s *sample) float64 { return float64(s.RSSBytes) / (1 << 20) }))
		if s.Ratio != (spread{}) {
			fmt.Fprintf(t, "%s%s\t%s\t%s\t", floor, figures(s.Ratio.Median), figures(s.Ratio.Min), figures(s.Ratio.Max))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	r.printNotes(w)
	return nil
}

// printNotes writes what a reader of the table must know to read it rightly.
func (r *result) printNotes(w io.Writer) {
	if r.Workload.Poll {
		fmt.Fprintln(w, "  the receivers poll, so the generator's core is always busy")
	}
	for i := range r.Series {
		s := &r.Series[i]
		if s.Failure != "" {
			fmt.Fprintf(w, "  %s FAILED after %d runs: %s\n", s.Contender, len(s.Samples), s.Failure)
		}
		if s.Excluded != "" {
			fmt.Fprintf(w, "  %s left out: %s\n", s.Contender, s.Excluded)
		}
		if s.Caveat != "" {
			fmt.Fprintf(w, "  %s: %s\n", s.Contender, s.Caveat)
		}
		if len(s.Samples) == 0 {
			continue
		}
		if !r.Workload.Poll && s.median(func(s *sample) float64 { return s.GeneratorCores }) > generatorLimit {
			fmt.Fprintf(w, "  %s: the generator was above %.1f of its core, the throughput is a lower bound\n", s.Contender, generatorLimit)
		}
		if foreign := s.median(func(s *sample) float64 { return s.ForeignCores + s.StealCores }); foreign > foreignLimit {
			fmt.Fprintf(w, "  %s: others used %.2f cores meanwhile, trust only the ratios\n", s.Contender, foreign)
		}
		if pressures := spreadOf(s.column(func(s *sample) float64 { return float64(s.TCPPressures) })); pressures.Max > 0 {
			fmt.Fprintf(w, "  %s: the kernel ran short of memory for sockets, repeat this alone\n", s.Contender)
		}
		if s.RatioFloor {
			fmt.Fprintf(w, "  %s: a run was ended at the memory limit, the value would have become larger\n", s.Contender)
		}
	}
}

// figures prints three significant digits, and all of those before the point.
func figures(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	case v >= 0.1:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
