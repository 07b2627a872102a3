package metrics

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits on scrapes. A scrape takes well under a millisecond, unless a loop is
// busy with something long.
const (
	maxScrapes    = 4
	scrapeTimeout = 10 * time.Second
)

var errNoState = errors.New("the broker shuts down")

// A collector implements prometheus.Collector over the table.
type collector struct {
	source Source
	rows   []metric
	descs  []*prometheus.Desc // of rows
}

func newCollector(source Source) *collector {
	c := &collector{source: source, rows: table()}
	for _, m := range c.rows {
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, m.labels, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector. All metrics are of one state.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	state, ok := c.source()
	if !ok {
		out <- prometheus.NewInvalidMetric(c.descs[0], errNoState)
		return
	}
	for i, m := range c.rows {
		v := values{desc: c.descs[i], valueType: prometheus.GaugeValue, out: out}
		if m.kind == counter {
			v.valueType = prometheus.CounterValue
		}
		m.take(&state, &v)
	}
}

// Handler returns the handler of /metrics: the table, and what client_golang
// tells of the process and of Go's runtime. It speaks Prometheus's text format
// and OpenMetrics, and answers 500 when the source has no state any more.
func Handler(source Source, log *slog.Logger) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		newCollector(source),
		// Without the older names, among which a gauge and a counter differ by
		// the suffix _total alone: for OpenMetrics they are one family.
		collectors.NewGoCollector(
			collectors.WithGoCollectorMemStatsMetricsDisabled(),
			collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsMemory),
		),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: maxScrapes,
		Timeout:             scrapeTimeout,
		DisableCompression:  false,
	})
}
