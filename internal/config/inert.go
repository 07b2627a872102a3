package config

import "strings"

// inert returns the rows for what has no effect, which CONFIG GET shows once
// they were set. Names that Redis had before version 5, and names of Valkey,
// are among them. What Redis takes at start only is taken at start only.
func inert() []parameter {
	names := words(`
		active-defrag-cycle-max active-defrag-cycle-min
		active-defrag-ignore-bytes active-defrag-max-scan-fields
		active-defrag-threshold-lower active-defrag-threshold-upper
		active-expire-effort activedefrag activerehashing aof-disable-auto-gc
		aof-load-truncated aof-rewrite-incremental-fsync aof-timestamp-enabled
		aof-use-rdb-preamble appendfsync auto-aof-rewrite-min-size
		auto-aof-rewrite-percentage availability-zone bind-source-addr
		busy-reply-threshold cluster-allow-pubsubshard-when-down
		cluster-allow-reads-when-down cluster-allow-replica-migration
		cluster-announce-bus-port cluster-announce-client-ipv4
		cluster-announce-client-ipv6 cluster-announce-hostname
		cluster-announce-human-nodename cluster-announce-ip
		cluster-announce-port cluster-announce-tls-port cluster-blacklist-ttl
		cluster-link-sendbuf-limit cluster-migration-barrier
		cluster-node-timeout cluster-ping-interval
		cluster-preferred-endpoint-type cluster-replica-no-failover
		cluster-replica-validity-factor cluster-require-full-coverage
		cluster-slave-no-failover cluster-slave-validity-factor
		cluster-slot-stats-enabled crash-log-enabled crash-memcheck-enabled
		dbfilename debug-context dir dual-channel-replication-enabled dynamic-hz
		enable-debug-assert events-per-io-thread extended-redis-compatibility
		hash-max-listpack-entries hash-max-listpack-value
		hash-max-ziplist-entries hash-max-ziplist-value hll-sparse-max-bytes hz
		ignore-warnings jemalloc-bg-thread key-load-delay
		latency-monitor-threshold lazyfree-lazy-eviction lazyfree-lazy-expire
		lazyfree-lazy-server-del lazyfree-lazy-user-del lazyfree-lazy-user-flush
		lfu-decay-time lfu-log-factor list-compress-depth list-max-listpack-size
		list-max-ziplist-entries list-max-ziplist-size list-max-ziplist-value
		loading-process-events-interval-bytes locale-collate
		log-timestamp-format lua-replicate-commands lua-time-limit
		max-new-connections-per-cycle max-new-tls-connections-per-cycle
		maxmemory-eviction-tenacity maxmemory-samples min-replicas-max-lag
		min-replicas-to-write min-slaves-max-lag min-slaves-to-write
		no-appendfsync-on-rewrite oom-score-adj-values prefetch-batch-max-size
		proc-title-template propagation-error-behavior rdb-del-sync-files
		rdb-key-save-delay rdb-save-incremental-fsync rdbcompression
		repl-backlog-size repl-backlog-ttl repl-disable-tcp-nodelay
		repl-diskless-load repl-diskless-sync repl-diskless-sync-delay
		repl-diskless-sync-max-replicas repl-ping-replica-period
		repl-ping-slave-period repl-timeout replica-announce-ip
		replica-announce-port replica-announced replica-ignore-disk-write-errors
		replica-ignore-maxmemory replica-lazy-flush replica-priority
		replica-read-only replica-serve-stale-data req-res-logfile
		sanitize-dump-payload set-max-intset-entries set-max-listpack-entries
		set-max-listpack-value shutdown-on-sigint shutdown-on-sigterm
		slave-announce-ip slave-announce-port slave-ignore-maxmemory
		slave-lazy-flush slave-priority slave-read-only slave-serve-stale-data
		stop-writes-on-bgsave-error stream-node-max-bytes
		stream-node-max-entries tls-client-cert-file tls-client-key-file
		tls-dh-params-file tls-prefer-server-ciphers tls-session-cache-size
		tls-session-cache-timeout tracking-table-max-keys use-exit-on-panic
		watchdog-period zset-max-listpack-entries zset-max-listpack-value
		zset-max-ziplist-entries zset-max-ziplist-value`)
	fixed := words(`
		always-show-logo aof-rewrite-cpulist aof_rewrite_cpulist appenddirname
		appendfilename bgsave-cpulist bgsave_cpulist bio-cpulist bio_cpulist
		cluster-config-file cluster-port disable-thp enable-module-command
		enable-protected-configs io-threads io-threads-do-reads rdbchecksum
		set-proc-title syslog-facility syslog-ident`)
	rows := make([]parameter, 0, len(names)+len(fixed)+5)
	for _, name := range names {
		rows = append(rows, withoutEffect(name))
	}
	for _, name := range fixed {
		rows = append(rows, atStart(withoutEffect(name)))
	}
	// Names and passwords for servers that are not connected to.
	for _, name := range words(`masterauth masteruser primaryauth primaryuser tls-client-key-file-pass`) {
		rows = append(rows, secret(withoutEffect(name)))
	}
	return rows
}

func words(list string) []string { return strings.Fields(list) }
