package command

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"broker/channelstore"
	"broker/shard"
)

func (r *report) server() {
	cfg := &r.d.cfg
	uptime := int64(time.Since(cfg.Started).Seconds())
	r.line("redis_version", compatVersion)
	// As a Redis that was not built from a repository; tools look for the names.
	r.line("redis_git_sha1", "00000000")
	r.int("redis_git_dirty", 0)
	r.line("broker_version", cfg.Version)
	r.line("redis_mode", r.d.mode())
	r.line("os", operatingSystem())
	r.int("arch_bits", 32<<(^uint(0)>>63))
	r.line("monotonic_clock", "Go runtime")
	r.line("multiplexing_api", cfg.IO)
	r.line("go_version", runtime.Version())
	r.int("process_id", int64(os.Getpid()))
	r.line("run_id", cfg.RunID)
	r.line("tcp_port", r.d.param("port"))
	r.int("server_time_usec", time.Now().UnixMicro())
	r.int("uptime_in_seconds", uptime)
	r.int("uptime_in_days", uptime/(24*3600))
	r.line("executable", cfg.Executable)
	r.line("config_file", cfg.ConfigFile)
	r.int("io_threads_active", boolInt(cfg.Shards > 1))
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// operatingSystem returns kernel, release and machine as uname prints them,
// as far as they can be had without a system call of the platform.
func operatingSystem() string {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i686"}[runtime.GOARCH]
	if machine == "" {
		machine = runtime.GOARCH
	}
	kernel := strings.ToUpper(runtime.GOOS[:1]) + runtime.GOOS[1:]
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return kernel + " " + machine
	}
	return kernel + " " + strings.TrimSpace(string(release)) + " " + machine
}

func (r *report) clients() {
	st := &r.total.shard
	r.int("connected_clients", st.Sessions)
	r.zeros("cluster_connections")
	r.line("maxclients", r.d.param("maxclients"))
	r.int("blocked_clients", r.total.gauges.postponed)
	r.int("tracking_clients", r.total.gauges.tracking)
	r.int("pubsub_clients", st.SubscriberSessions)
	r.int("watching_clients", r.total.gauges.watching)
	r.zeros("clients_in_timeout_table")
	r.int("total_watched_keys", int64(len(r.total.gauges.watched)))
	r.zeros("total_blocking_keys")
}

func (r *report) persistence() {
	r.zeros("loading", "async_loading", "rdb_changes_since_last_save", "rdb_bgsave_in_progress")
	r.zeros("aof_enabled", "aof_rewrite_in_progress", "aof_rewrite_scheduled")
}

func (r *report) stats() {
	st, counts := &r.total.shard, &r.total.counts
	store := r.session.Store()
	ops, in, out := r.d.sampleRates(time.Now(), counts.calls(), st.NetInputBytes, st.NetOutputBytes)
	r.int("total_connections_received", st.Connections)
	r.int("total_commands_processed", counts.calls())
	r.int("instantaneous_ops_per_sec", int64(ops))
	r.int("total_net_input_bytes", st.NetInputBytes)
	r.int("total_net_output_bytes", st.NetOutputBytes)
	r.zeros("total_net_repl_input_bytes", "total_net_repl_output_bytes")
	r.float("instantaneous_input_kbps", in/1024, 2)
	r.float("instantaneous_output_kbps", out/1024, 2)
	r.int("rejected_connections", r.d.rejected())
	r.zeros("sync_full", "sync_partial_ok", "sync_partial_err", "expired_keys", "evicted_keys")
	r.int("evicted_clients", st.Closed[shard.CloseByMemory])
	r.zeros("keyspace_hits", "keyspace_misses")
	r.int("pubsub_channels", int64(store.Count(channelstore.Channels)))
	r.int("pubsub_patterns", int64(store.Count(channelstore.Patterns)))
	r.int("pubsubshard_channels", int64(store.Count(channelstore.ShardChannels)))
	r.zeros("latest_fork_usec", "total_forks", "tracking_total_keys", "tracking_total_items", "tracking_total_prefixes",
		"unexpected_error_replies")
	r.int("total_error_replies", counts.errorReplies+st.ProtocolErrors)
	r.int("client_query_buffer_limit_disconnections", st.QueryLimitDisconnects)
	r.int("client_output_buffer_limit_disconnections", st.OutputLimitDisconnects)
	r.int("eventloop_cycles", st.Turns)
	r.int("acl_access_denied_auth", counts.authFailures)
	r.int("acl_access_denied_cmd", counts.deniedCommands)
	r.zeros("acl_access_denied_key")
	r.int("acl_access_denied_channel", counts.deniedChannels)
}

func (r *report) replication() {
	r.line("role", "master")
	r.zeros("connected_slaves")
	r.line("master_failover_state", "no-failover")
	r.zeros("master_repl_offset", "repl_backlog_active")
}

func (r *report) cluster() { r.int("cluster_enabled", boolInt(r.d.cfg.Cluster)) }

func (r *report) commandStats() {
	rows := r.d.table.rows
	for i, n := range r.total.counts.commands {
		if n == (commandCounters{}) {
			continue
		}
		micros := n.nanos / 1000
		each := 0.0
		if n.calls > 0 {
			each = float64(n.nanos) / 1000 / float64(n.calls)
		}
		r.line("cmdstat_"+rows[i].fullName, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			n.calls, micros, each, n.rejected, n.failed))
	}
}

// errorStats counts the lines that begin with '-' by their first word,
// protocol errors included.
func (r *report) errorStats() {
	r.total.counts.addErrors(errPrefix, r.total.shard.ProtocolErrors)
	errors := r.total.counts.errors
	slices.SortFunc(errors, func(a, b errorCount) int { return strings.Compare(a.prefix, b.prefix) })
	for _, e := range errors {
		if e.n > 0 {
			r.line("errorstat_"+e.prefix, fmt.Sprintf("count=%d", e.n))
		}
	}
}

// broker is the section that Redis does not have: what this server does that
// Redis does not count.
func (r *report) broker() {
	st := &r.total.shard
	r.int("broker_shards", int64(r.d.cfg.Shards))
	r.line("broker_io", r.d.cfg.IO)
	r.int("broker_messages_published", st.Messages)
	r.int("broker_messages_delivered", st.Deliveries)
	r.int("broker_messages_dropped", st.Dropped)
	// What slow subscribers are owed, as charged to each and as it is held.
	r.int("broker_slow_subscribers", st.BehindSessions)
	r.int("broker_queued_bytes", r.total.queued.Owed)
	r.int("broker_queued_bytes_held", r.total.queued.HeldBytes())
	r.int("broker_protocol_errors", st.ProtocolErrors)
	r.int("broker_http_requests_refused", r.total.counts.httpRequests)
	r.int("broker_session_panics", st.Panics)
	r.int("broker_loop_turns", st.Turns)
	r.int("broker_loop_wakeups", st.Wakeups)
	for reason, n := range st.Closed {
		name := strings.ReplaceAll(shard.CloseReason(reason).String(), " ", "_")
		r.int("broker_closed_by_"+name, n)
	}
	r.int("broker_goroutines", int64(runtime.NumGoroutine()))
	for i := range r.total.loops {
		st := &r.total.loops[i]
		r.line("broker_shard_"+strconv.Itoa(i), fmt.Sprintf("sessions=%d,subscribers=%d,messages=%d,deliveries=%d,turns=%d,cpu_usec=%d,owed=%d",
			st.Sessions, st.SubscriberSessions, st.Messages, st.Deliveries, st.Turns, st.CPUNanos/1000, st.OwedBytes))
	}
}
