package config

import "strings"

// inert returns the rows for what has no effect: Redis's parameters about what
// the broker does not have. They may have any value, which is kept. CONFIG GET
// shows Redis's own default until then, as tools ask for what every
// redis-server has, and write it back.
func inert() []parameter {
	rows := make([]parameter, 0, 256)
	for name, def := range namesAndValues(inertDefaults) {
		rows = append(rows, idle(name, def))
	}
	for name, def := range namesAndValues(inertHidden) {
		rows = append(rows, hidden(idle(name, def)))
	}
	for alias, name := range namesAndValues(inertAliases) {
		rows = append(rows, aliasOf(lookup(rows, name), alias))
	}
	for _, name := range words(inertOthers) {
		rows = append(rows, withoutEffect(name))
	}
	// Names and passwords for servers that are not connected to.
	for _, name := range words(`masterauth masteruser tls-client-key-file-pass`) {
		rows = append(rows, secret(idle(name, "")))
	}
	for _, name := range words(`primaryauth primaryuser`) {
		rows = append(rows, secret(withoutEffect(name)))
	}
	for _, name := range words(inertAtStart) {
		p := lookup(rows, name)
		*p = atStart(*p)
	}
	for i := range rows {
		if p := &rows[i]; p.alias != "" && lookup(rows, p.alias).atStart {
			*p = atStart(*p)
		}
	}
	return append(rows, shutdownOptions("shutdown-on-sigint"), shutdownOptions("shutdown-on-sigterm"))
}

// aliasOf is p under another name that it has in Redis, with the same value.
func aliasOf(p *parameter, alias string) parameter {
	other := *p
	other.name, other.alias = alias, p.name
	return other
}

// key returns the name under which the value of a row without effect is kept.
func (p *parameter) key() string {
	if p.alias != "" {
		return p.alias
	}
	return p.name
}

func words(list string) []string { return strings.Fields(list) }

// namesAndValues reads lines of a name and a value, which may be empty or have
// blanks.
func namesAndValues(text string) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name != "" && !yield(name, value) {
				return
			}
		}
	}
}

const (
	// inertDefaults are the names that redis-server 7.0.15 knows, with what a
	// fresh one answers.
	inertDefaults = `
		active-defrag-cycle-max 25
		active-defrag-cycle-min 1
		active-defrag-ignore-bytes 104857600
		active-defrag-max-scan-fields 1000
		active-defrag-threshold-lower 10
		active-defrag-threshold-upper 100
		active-expire-effort 1
		activedefrag no
		activerehashing yes
		always-show-logo no
		aof-disable-auto-gc no
		aof-load-truncated yes
		aof-rewrite-incremental-fsync yes
		aof-timestamp-enabled no
		aof-use-rdb-preamble yes
		aof_rewrite_cpulist
		appenddirname appendonlydir
		appendfilename appendonly.aof
		appendfsync everysec
		auto-aof-rewrite-min-size 67108864
		auto-aof-rewrite-percentage 100
		bgsave_cpulist
		bind-source-addr
		bio_cpulist
		busy-reply-threshold 5000
		cluster-allow-pubsubshard-when-down yes
		cluster-allow-reads-when-down no
		cluster-allow-replica-migration yes
		cluster-announce-bus-port 0
		cluster-announce-hostname
		cluster-announce-ip
		cluster-announce-port 0
		cluster-announce-tls-port 0
		cluster-config-file nodes.conf
		cluster-link-sendbuf-limit 0
		cluster-migration-barrier 1
		cluster-node-timeout 15000
		cluster-port 0
		cluster-preferred-endpoint-type ip
		cluster-replica-no-failover no
		cluster-replica-validity-factor 10
		cluster-require-full-coverage yes
		crash-log-enabled yes
		crash-memcheck-enabled yes
		dbfilename dump.rdb
		disable-thp yes
		dynamic-hz yes
		enable-module-command no
		enable-protected-configs no
		hash-max-listpack-entries 512
		hash-max-listpack-value 64
		hll-sparse-max-bytes 3000
		hz 10
		ignore-warnings
		io-threads 1
		io-threads-do-reads no
		jemalloc-bg-thread yes
		latency-monitor-threshold 0
		lazyfree-lazy-eviction no
		lazyfree-lazy-expire no
		lazyfree-lazy-server-del no
		lazyfree-lazy-user-del no
		lazyfree-lazy-user-flush no
		lfu-decay-time 1
		lfu-log-factor 10
		list-compress-depth 0
		list-max-listpack-size -2
		maxmemory-eviction-tenacity 10
		maxmemory-samples 5
		min-replicas-max-lag 10
		min-replicas-to-write 0
		no-appendfsync-on-rewrite no
		oom-score-adj-values 0 200 800
		proc-title-template {title} {listen-addr} {server-mode}
		propagation-error-behavior ignore
		rdb-del-sync-files no
		rdb-save-incremental-fsync yes
		rdbchecksum yes
		rdbcompression yes
		repl-backlog-size 1048576
		repl-backlog-ttl 3600
		repl-disable-tcp-nodelay no
		repl-diskless-load disabled
		repl-diskless-sync yes
		repl-diskless-sync-delay 5
		repl-diskless-sync-max-replicas 0
		repl-ping-replica-period 10
		repl-timeout 60
		replica-announce-ip
		replica-announce-port 0
		replica-announced yes
		replica-ignore-disk-write-errors no
		replica-ignore-maxmemory yes
		replica-lazy-flush no
		replica-priority 100
		replica-read-only yes
		replica-serve-stale-data yes
		sanitize-dump-payload no
		set-max-intset-entries 512
		set-proc-title yes
		stop-writes-on-bgsave-error yes
		stream-node-max-bytes 4096
		stream-node-max-entries 100
		syslog-facility local0
		syslog-ident redis
		tls-client-cert-file
		tls-client-key-file
		tls-dh-params-file
		tls-prefer-server-ciphers no
		tls-session-cache-size 20480
		tls-session-cache-timeout 300
		tracking-table-max-keys 1000000
		zset-max-listpack-entries 128
		zset-max-listpack-value 64
	`

	// inertHidden are those that Redis shows only to who asks for them by name,
	// and those that later versions have as second names.
	inertHidden = `
		aof-rewrite-cpulist
		bgsave-cpulist
		bio-cpulist
		debug-context
		enable-debug-assert no
		key-load-delay 0
		loading-process-events-interval-bytes 2097152
		rdb-key-save-delay 0
		use-exit-on-panic no
		watchdog-period 0
	`

	// inertAliases are second names, each with the first one.
	inertAliases = `
		cluster-slave-no-failover cluster-replica-no-failover
		cluster-slave-validity-factor cluster-replica-validity-factor
		hash-max-ziplist-entries hash-max-listpack-entries
		hash-max-ziplist-value hash-max-listpack-value
		list-max-ziplist-size list-max-listpack-size
		lua-time-limit busy-reply-threshold
		min-slaves-max-lag min-replicas-max-lag
		min-slaves-to-write min-replicas-to-write
		repl-ping-slave-period repl-ping-replica-period
		slave-announce-ip replica-announce-ip
		slave-announce-port replica-announce-port
		slave-ignore-maxmemory replica-ignore-maxmemory
		slave-lazy-flush replica-lazy-flush
		slave-priority replica-priority
		slave-read-only replica-read-only
		slave-serve-stale-data replica-serve-stale-data
		zset-max-ziplist-entries zset-max-listpack-entries
		zset-max-ziplist-value zset-max-listpack-value
	`

	// inertOthers are names that older and newer versions and Valkey have.
	inertOthers = `
		active-defrag-cycle-us availability-zone cluster-announce-client-ipv4
		cluster-announce-client-ipv6 cluster-announce-client-port
		cluster-announce-client-tls-port cluster-announce-human-nodename
		cluster-blacklist-ttl cluster-config-save-behavior cluster-databases
		cluster-manual-failover-timeout cluster-message-gossip-perc
		cluster-ping-interval cluster-slot-migration-log-max-len
		cluster-slot-stats-enabled dir dual-channel-replication-enabled
		events-per-io-thread extended-redis-compatibility hash-seed
		io-threads-always-active list-max-ziplist-entries list-max-ziplist-value
		locale-collate log-timestamp-format lua-enable-deprecated-api
		lua-enable-insecure-api lua-replicate-commands
		max-new-connections-per-cycle max-new-tls-connections-per-cycle
		min-io-threads-avoid-copy-reply min-string-size-avoid-copy-reply
		min-string-size-avoid-copy-reply-threaded prefetch-batch-max-size
		rdb-version-check req-res-logfile set-max-listpack-entries
		set-max-listpack-value slot-migration-max-failover-repl-bytes
		tls-auto-reload-interval
	`

	// inertAtStart are the names whose values Redis takes at start only.
	inertAtStart = `
		always-show-logo aof-rewrite-cpulist aof_rewrite_cpulist appenddirname
		appendfilename bgsave-cpulist bgsave_cpulist bio-cpulist bio_cpulist
		cluster-config-file cluster-port disable-thp enable-module-command
		enable-protected-configs io-threads io-threads-do-reads rdbchecksum
		set-proc-title syslog-facility syslog-ident
	`
)
