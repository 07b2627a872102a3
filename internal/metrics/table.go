package metrics

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"broker/internal/command"
	"broker/shard"
)

// A kind is the type of a metric.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// A metric is a row of the table.
type metric struct {
	name   string
	kind   kind
	labels []string
	help   string // a sentence, for the exposition and the document

	// take gives the values: one for each set of labels.
	take func(*State, *values)
}

// values collects what take gives.
type values struct {
	desc      *prometheus.Desc
	valueType prometheus.ValueType
	out       chan<- prometheus.Metric
}

// add gives the value of a counter or a gauge.
func (v *values) add(value float64, labels ...string) {
	v.out <- prometheus.MustNewConstMetric(v.desc, v.valueType, value, labels...)
}

// bits gives a histogram whose bucket i counts the numbers of i bits.
func (v *values) bits(buckets []int64, sum int64, labels ...string) {
	cumulative := make(map[float64]uint64, len(buckets))
	var n uint64
	for i, b := range buckets {
		n += uint64(b)
		if i < len(buckets)-1 {
			cumulative[math.Exp2(float64(i))-1] = n
		}
	}
	v.out <- prometheus.MustNewConstHistogram(v.desc, n, float64(sum), cumulative, labels...)
}

// Times are shown from about a microsecond to about a minute, by powers of
// four.
const firstTimeBit, lastTimeBit, timeBitStep = 10, 36, 2

// times gives a histogram in seconds.
func (v *values) times(t *command.Times, labels ...string) {
	cumulative := map[float64]uint64{}
	var n uint64
	for bit, count := range t.Bits {
		n += uint64(count)
		if bit >= firstTimeBit && bit <= lastTimeBit && (bit-firstTimeBit)%timeBitStep == 0 {
			cumulative[math.Exp2(float64(bit))/1e9] = n
		}
	}
	v.out <- prometheus.MustNewConstHistogram(v.desc, n, float64(t.Sum)/1e9, cumulative, labels...)
}

// single is a metric without labels.
func single(name string, k kind, help string, value func(*State) float64) metric {
	return metric{name: name, kind: k, help: help, take: func(s *State, v *values) { v.add(value(s)) }}
}

// perShard is a metric with a value for each loop.
func perShard(name string, k kind, help string, value func(*shard.Stats) int64) metric {
	return metric{name: name, kind: k, labels: []string{"shard"}, help: help, take: func(s *State, v *values) {
		for i := range s.Shards {
			v.add(float64(value(&s.Shards[i])), strconv.Itoa(i))
		}
	}}
}

// perCommand is a counter with a value for each command that was called or
// refused.
func perCommand(name, help string, value func(calls, rejected, failed, nanos int64) float64) metric {
	return metric{name: name, kind: counter, labels: []string{"cmd"}, help: help, take: func(s *State, v *values) {
		for _, c := range s.Commands {
			v.add(value(c.Calls, c.Rejected, c.Failed, c.Nanos), c.Name)
		}
	}}
}

// perChannel is a metric with a value for each of the busiest channels.
func perChannel(name string, k kind, help string, value func(*command.ChannelStats) float64) metric {
	return metric{
		name: name, kind: k, labels: []string{"channel"},
		help: "Of the busiest channels, as many as admin-top-channels says: " + strings.ToLower(help[:1]) + help[1:],
		take: func(s *State, v *values) {
			for i := range s.TopChannels {
				v.add(value(&s.TopChannels[i]), channelLabel(s.TopChannels[i].Name))
			}
		},
	}
}

// channelLabel is a name as a label can have it: what is not UTF-8 is quoted,
// and so is what begins like that, so that no two names become one.
func channelLabel(name string) string {
	if utf8.ValidString(name) && !strings.HasPrefix(name, `"`) {
		return name
	}
	return strconv.QuoteToASCII(name)
}

// table returns all rows, in the order in which the document shows them.
func table() []metric {
	return append(redisMetrics(), brokerMetrics()...)
}

// redisMetrics are the rows with names and meanings of redis_exporter.
func redisMetrics() []metric {
	return []metric{
		single("redis_up", gauge, "1: the broker answers.",
			func(*State) float64 { return 1 }),
		{name: "redis_instance_info", kind: gauge, labels: []string{"redis_version", "redis_mode", "role", "run_id"},
			help: "1, with labels that describe the broker to dashboards made for Redis.",
			take: func(s *State, v *values) { v.add(1, s.CompatVersion, "standalone", "master", s.RunID) }},
		single("redis_start_time_seconds", gauge, "When the broker started, in Unix time.",
			func(s *State) float64 { return float64(s.Started.UnixMilli()) / 1000 }),
		single("redis_uptime_in_seconds", gauge, "How long the broker has been running.",
			func(s *State) float64 { return math.Floor(s.Taken.Sub(s.Started).Seconds()) }),
		single("redis_connected_clients", gauge, "Connections now.",
			func(s *State) float64 { return float64(s.Total.Sessions) }),
		single("redis_config_maxclients", gauge, "Connections that are served at the same time at most.",
			func(s *State) float64 { return float64(s.MaxClients) }),
		single("redis_pubsub_clients", gauge, "Connections with at least one subscription.",
			func(s *State) float64 { return float64(s.Total.SubscriberSessions) }),
		single("redis_pubsub_channels", gauge, "Channels with subscribers, those of patterns not counted.",
			func(s *State) float64 { return float64(s.Channels) }),
		single("redis_pubsub_patterns", gauge, "Different patterns that are subscribed to.",
			func(s *State) float64 { return float64(s.Patterns) }),
		single("redis_pubsubshard_channels", gauge, "Shard channels with subscribers.",
			func(s *State) float64 { return float64(s.ShardChannels) }),
		single("redis_connections_received_total", counter, "Connections that were accepted.",
			func(s *State) float64 { return float64(s.Total.Connections) }),
		single("redis_rejected_connections_total", counter, "Connections that were refused because of maxclients or of protected mode.",
			func(s *State) float64 { return float64(s.Rejected) }),
		single("redis_commands_processed_total", counter, "Commands executed.",
			func(s *State) float64 { return float64(s.Calls()) }),
		perCommand("redis_commands_total", "Commands executed, by command; a subcommand is named container|subcommand.",
			func(calls, _, _, _ int64) float64 { return float64(calls) }),
		perCommand("redis_commands_duration_seconds_total", "Time spent executing commands. It is taken per run of equal commands that arrived together.",
			func(_, _, _, nanos int64) float64 { return float64(nanos) / 1e9 }),
		perCommand("redis_commands_rejected_calls_total", "Commands refused before execution: wrong arguments, no permission.",
			func(_, rejected, _, _ int64) float64 { return float64(rejected) }),
		perCommand("redis_commands_failed_calls_total", "Commands executed and answered with an error.",
			func(_, _, failed, _ int64) float64 { return float64(failed) }),
		{name: "redis_errors_total", kind: counter, labels: []string{"err"},
			help: "Error replies by the first word of their text.",
			take: func(s *State, v *values) {
				for _, e := range s.Errors {
					v.add(float64(e.Count), e.Prefix)
				}
			}},
		single("redis_acl_access_denied_auth_total", counter, "Failed logins.",
			func(s *State) float64 { return float64(s.AuthFailures) }),
		single("redis_acl_access_denied_cmd_total", counter, "Commands refused because the user may not run them.",
			func(s *State) float64 { return float64(s.DeniedCommands) }),
		single("redis_acl_access_denied_channel_total", counter, "Commands refused because the user may not use a channel.",
			func(s *State) float64 { return float64(s.DeniedChannels) }),
		single("redis_slowlog_length", gauge, "Entries of the slow log.",
			func(s *State) float64 { return float64(s.SlowlogLength) }),
		single("redis_net_input_bytes_total", counter, "Bytes received.",
			func(s *State) float64 { return float64(s.Total.NetInputBytes) }),
		single("redis_net_output_bytes_total", counter, "Bytes sent.",
			func(s *State) float64 { return float64(s.Total.NetOutputBytes) }),
		single("redis_client_output_buffer_limit_disconnections_total", counter, "Connections closed because of client-output-buffer-limit.",
			func(s *State) float64 { return float64(s.Total.OutputLimitDisconnects) }),
		single("redis_client_query_buffer_limit_disconnections_total", counter, "Connections closed because of client-query-buffer-limit.",
			func(s *State) float64 { return float64(s.Total.QueryLimitDisconnects) }),
		single("redis_memory_used_bytes", gauge, "Memory in use, by objects and by Go's runtime.",
			func(s *State) float64 { return float64(s.UsedMemory) }),
		single("redis_memory_used_peak_bytes", gauge, "The highest value of redis_memory_used_bytes that a scrape or INFO has seen.",
			func(s *State) float64 { return float64(s.PeakMemory) }),
		single("redis_memory_used_rss_bytes", gauge, "Memory that the operating system has given.",
			func(s *State) float64 { return float64(s.ResidentMemory) }),
	}
}

// brokerMetrics are the rows for what redis_exporter does not know.
func brokerMetrics() []metric {
	total := func(name, help string, value func(*shard.Stats) int64) metric {
		return single(name, counter, help, func(s *State) float64 { return float64(value(&s.Total)) })
	}
	return []metric{
		{name: "broker_build_info", kind: gauge, labels: []string{"version", "go_version", "io"},
			help: "1, with the broker's version, that of Go, and the I/O driver.",
			take: func(s *State, v *values) { v.add(1, s.Version, runtime.Version(), s.IO) }},
		single("broker_shards", gauge, "Event loops.",
			func(s *State) float64 { return float64(len(s.Shards)) }),
		total("broker_messages_published_total", "Messages published by clients.",
			func(st *shard.Stats) int64 { return st.Messages }),
		total("broker_messages_delivered_total", "Messages queued for subscribers; one with three subscribers counts three times.",
			func(st *shard.Stats) int64 { return st.Deliveries }),
		total("broker_messages_dropped_total", "Messages that a slow-subscriber policy dropped instead of sending them.",
			func(st *shard.Stats) int64 { return st.Dropped }),
		{name: "broker_message_receivers", kind: histogram,
			help: "Subscriptions that a published message went to. Under load one message in some is looked at and counted as all.",
			take: func(s *State, v *values) { v.bits(s.Total.FanOut[:], s.Total.FanOutSum) }},
		{name: "broker_message_payload_bytes", kind: histogram,
			help: "Payload of published messages; sampled as broker_message_receivers.",
			take: func(s *State, v *values) { v.bits(s.Total.MessageBytes[:], s.Total.MessageBytesSum) }},
		perChannel("broker_channel_messages_per_second", gauge, "Average of the last minute.",
			func(c *command.ChannelStats) float64 { return c.PerSecondInMinute }),
		perChannel("broker_channel_messages_total", counter, "Messages published.",
			func(c *command.ChannelStats) float64 { return float64(c.Messages) }),
		perChannel("broker_channel_deliveries_total", counter, "Messages queued for subscribers.",
			func(c *command.ChannelStats) float64 { return float64(c.Deliveries) }),
		perChannel("broker_channel_dropped_total", counter, "Messages that a slow-subscriber policy dropped.",
			func(c *command.ChannelStats) float64 { return float64(c.Dropped) }),
		perChannel("broker_channel_subscribers", gauge, "Subscribers, those of patterns not counted.",
			func(c *command.ChannelStats) float64 { return float64(c.Subscribers) }),
		single("broker_slow_subscribers", gauge, "Connections whose socket does not take what waits for them.",
			func(s *State) float64 { return float64(s.Total.BehindSessions) }),
		single("broker_queued_bytes", gauge, "Bytes that wait to be sent, counted for each receiver.",
			func(s *State) float64 { return float64(s.Total.OwedBytes) }),
		single("broker_queued_held_bytes", gauge, "Memory that what waits for slow subscribers occupies; receivers share a message's.",
			func(s *State) float64 { return float64(s.QueuedHeld) }),
		{name: "broker_command_duration_seconds", kind: histogram, labels: []string{"cmd"},
			help: "Time that commands take, of those that latency-tracking times.",
			take: func(s *State, v *values) {
				for i := range s.Commands {
					if c := &s.Commands[i]; c.Times.Count > 0 {
						v.times(&c.Times, c.Name)
					}
				}
			}},
		{name: "broker_connections_closed_total", kind: counter, labels: []string{"reason"},
			help: "Connections that ended, by reason; see the operating guide.",
			take: func(s *State, v *values) {
				for reason, n := range s.Total.Closed {
					v.add(float64(n), closeLabel(shard.CloseReason(reason)))
				}
			}},
		total("broker_protocol_errors_total", "Connections closed because their input was not the Redis protocol.",
			func(st *shard.Stats) int64 { return st.ProtocolErrors }),
		single("broker_http_requests_refused_total", counter, "Connections closed because they spoke HTTP to a Redis port.",
			func(s *State) float64 { return float64(s.HTTPRequests) }),
		total("broker_session_panics_total", "Connections ended by a fault of the broker; any is a bug.",
			func(st *shard.Stats) int64 { return st.Panics }),
		perShard("broker_shard_sessions", gauge, "Connections of each event loop.",
			func(st *shard.Stats) int64 { return st.Sessions }),
		perShard("broker_shard_messages_published_total", counter, "Messages published by the clients of each event loop.",
			func(st *shard.Stats) int64 { return st.Messages }),
		perShard("broker_shard_messages_delivered_total", counter, "Messages queued for the clients of each event loop.",
			func(st *shard.Stats) int64 { return st.Deliveries }),
		perShard("broker_shard_turns_total", counter, "Turns of each event loop.",
			func(st *shard.Stats) int64 { return st.Turns }),
		perShard("broker_shard_wakeups_total", counter, "Turns of each event loop that began with a sleep; a busy loop hardly sleeps.",
			func(st *shard.Stats) int64 { return st.Wakeups }),
	}
}

// closeLabel is a reason as INFO writes it.
func closeLabel(r shard.CloseReason) string { return strings.ReplaceAll(r.String(), " ", "_") }
