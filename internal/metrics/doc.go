// Package metrics is the table of what the broker tells a monitoring system,
// in Prometheus's data model.
//
// A metric is a row of the table (table.go): its name, its type, its meaning
// and how its value is taken from a State. The document docs/metrics.md is
// made from the same rows. Where redis_exporter has a metric of the same
// meaning, it has redis_exporter's name; all others begin with broker_.
//
// Nothing is counted here. The loops count for INFO, in plain fields of their
// own, and a scrape asks every loop once, as INFO does: a metric costs nothing
// while nobody looks.
//
// What this package is not: it opens no port and knows no HTTP beyond the
// handler that it returns. The number of series is bounded by the broker's own
// tables: only the metrics of the busiest channels have a label whose values
// clients choose, and of those there are as many as the operator asked for.
//
// A Collector may be used by any goroutines, but not by a loop.
package metrics
