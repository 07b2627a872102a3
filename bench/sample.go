package main

import "time"

// A sample is what one run of one workload against one server showed.
type sample struct {
	// Value is the number the workload compares servers by.
	Value float64 `json:"value"`
	// Floor is set when the run was ended at a limit, so that Value would have
	// become larger.
	Floor bool `json:"floor,omitempty"`

	Seconds    float64 `json:"seconds"`
	Ops        int64   `json:"ops"`
	Deliveries int64   `json:"deliveries,omitempty"`

	// Of the server. The split into user and system time has a resolution of
	// 10 ms and need not add up.
	ServerCPUSeconds float64 `json:"server_cpu_seconds"`
	UserSeconds      float64 `json:"server_user_seconds"`
	SystemSeconds    float64 `json:"server_system_seconds"`
	ContextSwitches  int64   `json:"server_context_switches"`
	RSSBytes         int64   `json:"server_rss_bytes"`
	RSSGrowthBytes   int64   `json:"server_rss_growth_bytes"`

	// In cores: the generator, everything but server and generator, and what
	// the hypervisor withheld.
	GeneratorCores float64 `json:"generator_cores"`
	ForeignCores   float64 `json:"foreign_cores"`
	StealCores     float64 `json:"steal_cores"`

	// TCPPressures is how often the kernel ran short of memory for sockets
	// meanwhile, which slows all of them down.
	TCPPressures int64 `json:"tcp_memory_pressures,omitempty"`

	// From sending one message until its last receiver has it.
	P50Micros float64 `json:"p50_us,omitempty"`
	P99Micros float64 `json:"p99_us,omitempty"`
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// cpuMicrosPer returns the server's CPU time in µs for each of n.
func (s *sample) cpuMicrosPer(n int64) float64 {
	if n == 0 {
		return 0
	}
	return s.ServerCPUSeconds * 1e6 / float64(n)
}

func (s *sample) opsPerSecond() float64 {
	if s.Seconds == 0 {
		return 0
	}
	return float64(s.Ops) / s.Seconds
}

// switchesPer1000 returns the server's context switches per 1000 operations.
func (s *sample) switchesPer1000() float64 {
	if s.Ops == 0 {
		return 0
	}
	return float64(s.ContextSwitches) * 1000 / float64(s.Ops)
}

// serverCores returns how many CPUs the server kept busy.
func (s *sample) serverCores() float64 {
	if s.Seconds == 0 {
		return 0
	}
	return s.ServerCPUSeconds / s.Seconds
}

// measureBy sets Value.
func (s *sample) measureBy(m measure) {
	switch m {
	case cpuPerOp:
		s.Value = s.cpuMicrosPer(s.Ops)
	case cpuPerDelivery:
		s.Value = s.cpuMicrosPer(s.Deliveries)
	case latencyP50:
		s.Value = s.P50Micros
	case memoryPerConn:
		if s.Ops != 0 {
			s.Value = float64(s.RSSGrowthBytes) / (1 << 10) / float64(s.Ops)
		}
	case memoryGrowth:
		s.Value = float64(s.RSSGrowthBytes) / (1 << 20)
	default:
		panic("bench: a workload without a measure")
	}
}
