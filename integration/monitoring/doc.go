// Package monitoring tests what monitoring systems see of a running broker:
// the admin listener's metrics against INFO, in both text formats, and
// redis_exporter over the Redis port.
//
// Two tests need Debian packages: prometheus-redis-exporter, and
// python3-prometheus-client, which has the strictest parser of OpenMetrics.
package monitoring
