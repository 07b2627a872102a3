package config

import (
	"errors"
	"fmt"
	"strings"
)

// Redis's parameters for which there is no setting, because the broker cannot
// be otherwise, or because they are about what it does not have. None of them
// has a field in [Config].
//
// A parameter that would promise something that is not kept is a fact or is
// refused; what remains has no effect. To make one a setting, give it a row
// in settings and take it out of here.

// errWithoutEffect is what set returns for a value that is accepted and means
// nothing. It never leaves the package.
var errWithoutEffect = errors.New("accepted without effect")

// fact is a parameter with one possible value, which CONFIG GET shows. Other
// values are refused because of why.
func fact(name, value, why string) parameter {
	return parameter{
		name: name, def: value,
		parse: func(_ *Config, values []string) error {
			switch {
			case len(values) == 0 && value != "":
				return errArgCount
			case means(values, value):
				return nil
			}
			return fmt.Errorf("not supported, only %q is: %s", value, why)
		},
		get: func(*Config) string { return value },
	}
}

// idle is a fact whose other values make no difference.
func idle(name, value string) parameter {
	p := fact(name, value, "")
	p.parse = func(_ *Config, values []string) error {
		switch {
		case len(values) == 0:
			return errArgCount
		case means(values, value):
			return nil
		}
		return errWithoutEffect
	}
	return p
}

// hidden is p without CONFIG GET.
func hidden(p parameter) parameter {
	p.get = nil
	return p
}

// secret is p with values that no error shows.
func secret(p parameter) parameter {
	p.secret = true
	return p
}

// refused is a directive that no value makes acceptable, because of why.
func refused(name, why string) parameter {
	return parameter{
		name:  name,
		parse: func(*Config, []string) error { return fmt.Errorf("not supported: %s", why) },
	}
}

// withoutEffect is a parameter whose values are not looked at.
func withoutEffect(name string) parameter {
	return parameter{
		name: name,
		parse: func(_ *Config, values []string) error {
			if len(values) == 0 {
				return errArgCount
			}
			return errWithoutEffect
		},
	}
}

// means reports whether the values are another way to write value: in another
// case, or the same number of bytes.
func means(values []string, value string) bool {
	text := strings.TrimSpace(strings.Join(values, " "))
	if strings.EqualFold(text, value) {
		return true
	}
	n, err := parseMemory(text)
	m, err2 := parseMemory(value)
	return err == nil && err2 == nil && n == m
}

// facts returns the rows for what is as it is, in the order in which CONFIG
// GET shows them behind the settings.
func facts() []parameter {
	const (
		noStorage = "nothing is stored, so nothing can be saved"
		noUsers   = "there are no users and no passwords"
		noTLS     = "there is no TLS"
		noCluster = "there is no cluster mode"
		noReplica = "there is no replication"
	)
	rows := []parameter{
		fact("save", "", noStorage),
		fact("appendonly", "no", noStorage),
		fact("maxmemory", "0", "memory is bounded for each client, by maxclients and the buffer limits"),
		fact("maxmemory-clients", "0", "memory is bounded for each client, by maxclients and the buffer limits"),
		idle("maxmemory-policy", "noeviction"),
		idle("notify-keyspace-events", ""),
		fact("timeout", "0", "idle clients are not closed"),
		fact("daemonize", "no", "let a service manager or a container run it in the background"),
		fact("supervised", "no", "service managers are not told of the start"),
		fact("syslog-enabled", "no", "the log goes to standard output or to logfile"),
		fact("cluster-enabled", "no", noCluster),
		fact("replicaof", "", noReplica),
		secret(fact("requirepass", "", noUsers)),
		fact("aclfile", "", noUsers),
		hidden(fact("slaveof", "", noReplica)),
		hidden(fact("oom-score-adj", "no", "set it from outside")),
		hidden(fact("server-cpulist", "", "bind it to processors from outside")),
		hidden(fact("server_cpulist", "", "bind it to processors from outside")),
		hidden(fact("socket-mark-id", "0", "sockets are not marked")),
		hidden(fact("client-default-resp", "2", "clients ask for RESP3 with HELLO")),
		hidden(fact("hide-user-data-from-log", "no", "the log names clients and channels")),
		hidden(fact("unixsocketgroup", "", "a socket's group is that of the process")),
		secret(userDirective(noUsers)),
		refused("loadmodule", "there are no modules"),
		refused("rename-command", "commands have one name"),
		refused("sentinel", "this is no sentinel"),
		hidden(fact("tls-port", "0", noTLS)),
		hidden(fact("tls-replication", "no", noTLS)),
		hidden(fact("tls-cluster", "no", noTLS)),
	}
	for _, name := range words(`
		tls-auth-clients tls-ca-cert-dir tls-ca-cert-file tls-cert-file
		tls-ciphers tls-ciphersuites tls-client-cert-file tls-client-key-file
		tls-dh-params-file tls-key-file tls-prefer-server-ciphers tls-protocols
		tls-session-cache-size tls-session-cache-timeout tls-session-caching
		max-new-tls-connections-per-cycle`) {
		rows = append(rows, refused(name, noTLS))
	}
	for _, name := range words(`tls-key-file-pass tls-client-key-file-pass`) {
		rows = append(rows, secret(refused(name, noTLS)))
	}
	return rows
}

// userDirective accepts the one user that Redis has when it has no others,
// which its CONFIG REWRITE writes into every file: everybody may do everything.
func userDirective(why string) parameter {
	p := refused("user", why)
	refuse := p.parse
	p.parse = func(c *Config, values []string) error {
		var rest []string
		for _, v := range values {
			if v != "sanitize-payload" {
				rest = append(rest, v)
			}
		}
		if strings.Join(rest, " ") == "default on nopass ~* &* +@all" {
			return nil
		}
		return refuse(c, values)
	}
	return p
}

// inert returns the rows for what has no effect, which CONFIG GET does not
// show. Names that Redis had before version 5, and names of Valkey, are among them.
func inert() []parameter {
	names := words(`
		acl-pubsub-default acllog-max-len active-defrag-cycle-max
		active-defrag-cycle-min active-defrag-ignore-bytes
		active-defrag-max-scan-fields active-defrag-threshold-lower
		active-defrag-threshold-upper active-expire-effort activedefrag
		activerehashing always-show-logo aof-disable-auto-gc
		aof-load-truncated aof-rewrite-cpulist aof-rewrite-incremental-fsync
		aof-timestamp-enabled aof-use-rdb-preamble aof_rewrite_cpulist
		appenddirname appendfilename appendfsync auto-aof-rewrite-min-size
		auto-aof-rewrite-percentage availability-zone bgsave-cpulist
		bgsave_cpulist bind-source-addr bio-cpulist bio_cpulist
		busy-reply-threshold cluster-allow-pubsubshard-when-down
		cluster-allow-reads-when-down cluster-allow-replica-migration
		cluster-announce-bus-port cluster-announce-client-ipv4
		cluster-announce-client-ipv6 cluster-announce-hostname
		cluster-announce-human-nodename cluster-announce-ip
		cluster-announce-port cluster-announce-tls-port cluster-blacklist-ttl
		cluster-config-file cluster-link-sendbuf-limit
		cluster-migration-barrier cluster-node-timeout cluster-ping-interval
		cluster-port cluster-preferred-endpoint-type
		cluster-replica-no-failover cluster-replica-validity-factor
		cluster-require-full-coverage cluster-slave-no-failover
		cluster-slave-validity-factor cluster-slot-stats-enabled
		crash-log-enabled crash-memcheck-enabled dbfilename debug-context dir
		disable-thp dual-channel-replication-enabled dynamic-hz
		enable-debug-assert enable-debug-command enable-module-command
		enable-protected-configs events-per-io-thread
		extended-redis-compatibility hash-max-listpack-entries
		hash-max-listpack-value hash-max-ziplist-entries
		hash-max-ziplist-value hll-sparse-max-bytes hz ignore-warnings
		io-threads io-threads-do-reads jemalloc-bg-thread key-load-delay
		latency-monitor-threshold latency-tracking
		latency-tracking-info-percentiles lazyfree-lazy-eviction
		lazyfree-lazy-expire lazyfree-lazy-server-del lazyfree-lazy-user-del
		lazyfree-lazy-user-flush lfu-decay-time lfu-log-factor
		list-compress-depth list-max-listpack-size list-max-ziplist-entries
		list-max-ziplist-size list-max-ziplist-value
		loading-process-events-interval-bytes locale-collate
		log-timestamp-format lua-replicate-commands lua-time-limit
		max-new-connections-per-cycle maxmemory-eviction-tenacity
		maxmemory-samples min-replicas-max-lag min-replicas-to-write
		min-slaves-max-lag min-slaves-to-write no-appendfsync-on-rewrite
		oom-score-adj-values prefetch-batch-max-size proc-title-template
		propagation-error-behavior rdb-del-sync-files rdb-key-save-delay
		rdb-save-incremental-fsync rdbchecksum rdbcompression
		repl-backlog-size repl-backlog-ttl repl-disable-tcp-nodelay
		repl-diskless-load repl-diskless-sync repl-diskless-sync-delay
		repl-diskless-sync-max-replicas repl-ping-replica-period
		repl-ping-slave-period repl-timeout replica-announce-ip
		replica-announce-port replica-announced
		replica-ignore-disk-write-errors replica-ignore-maxmemory
		replica-lazy-flush replica-priority replica-read-only
		replica-serve-stale-data req-res-logfile sanitize-dump-payload
		set-max-intset-entries set-max-listpack-entries
		set-max-listpack-value set-proc-title shutdown-on-sigint
		shutdown-on-sigterm slave-announce-ip slave-announce-port
		slave-ignore-maxmemory slave-lazy-flush slave-priority
		slave-read-only slave-serve-stale-data slowlog-log-slower-than
		slowlog-max-len stop-writes-on-bgsave-error stream-node-max-bytes
		stream-node-max-entries syslog-facility syslog-ident
		tracking-table-max-keys use-exit-on-panic watchdog-period
		zset-max-listpack-entries zset-max-listpack-value
		zset-max-ziplist-entries zset-max-ziplist-value`)
	rows := make([]parameter, 0, len(names)+4)
	for _, name := range names {
		rows = append(rows, withoutEffect(name))
	}
	// Names and passwords for a primary that there is not.
	for _, name := range words(`masterauth masteruser primaryauth primaryuser`) {
		rows = append(rows, secret(withoutEffect(name)))
	}
	return rows
}

func words(list string) []string { return strings.Fields(list) }
