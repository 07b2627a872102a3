package metrics

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"log/slog"

	"broker/internal/command"
	"broker/shard"
)

var update = flag.Bool("update", false, "write docs/metrics.md instead of comparing it")

// ofExporter are the names that redis_exporter gives metrics that are here,
// too. The list is from its source: a new redis_ row belongs in it only if the
// exporter has that name.
var ofExporter = strings.Fields(`
	redis_up redis_instance_info redis_start_time_seconds redis_uptime_in_seconds
	redis_connected_clients redis_config_maxclients redis_pubsub_clients redis_pubsub_channels
	redis_pubsub_patterns redis_pubsubshard_channels redis_connections_received_total
	redis_rejected_connections_total redis_commands_processed_total redis_commands_total
	redis_commands_duration_seconds_total redis_commands_rejected_calls_total
	redis_commands_failed_calls_total redis_errors_total redis_acl_access_denied_auth_total
	redis_acl_access_denied_cmd_total redis_acl_access_denied_channel_total redis_slowlog_length
	redis_net_input_bytes_total redis_net_output_bytes_total
	redis_client_output_buffer_limit_disconnections_total
	redis_client_query_buffer_limit_disconnections_total redis_memory_used_bytes
	redis_memory_used_peak_bytes redis_memory_used_rss_bytes`)

func TestTable_FollowsPrometheussRules(t *testing.T) {
	name := regexp.MustCompile(`^(redis|broker)(_[a-z0-9]+)+$`)
	seen := map[string]bool{}
	for _, m := range table() {
		if !name.MatchString(m.name) || seen[m.name] {
			t.Errorf("%s: not a name, or there twice", m.name)
		}
		seen[m.name] = true
		if strings.HasSuffix(m.name, "_total") != (m.kind == counter) {
			t.Errorf("%s is a %s", m.name, m.kind)
		}
		if !strings.HasSuffix(m.help, ".") || strings.ContainsAny(m.help, "\n\\") {
			t.Errorf("%s: %q is not a sentence", m.name, m.help)
		}
		if strings.HasPrefix(m.name, "redis_") && !slices.Contains(ofExporter, m.name) {
			t.Errorf("%s is no name of redis_exporter", m.name)
		}
	}
}

// busy is a state in which no count is zero.
func busy() State {
	s := State{MaxClients: 10}
	s.Started = time.UnixMilli(1_700_000_000_500)
	s.Taken = s.Started.Add(90*time.Second + time.Millisecond)
	s.Version, s.CompatVersion, s.RunID, s.IO = "1.2.3", "8.0.6", "0f0f", "epoll"
	s.Commands = []command.CommandStats{
		{Name: "publish", Calls: 7, Rejected: 2, Failed: 1, Nanos: 1_500_000_000,
			Times: command.Times{Count: 6, Sum: 3_000_000, Bits: []int64{9: 1, 10: 2, 11: 1, 30: 1, 37: 1}}},
		{Name: "config|get", Calls: 1, Nanos: 500},
	}
	s.Errors = []command.ErrorStats{{Prefix: "ERR", Count: 3}, {Prefix: "NOPERM", Count: 4}}
	s.DeniedCommands, s.DeniedChannels, s.SlowlogLength, s.QueuedHeld = 14, 15, 16, 2048
	s.ErrorReplies, s.AuthFailures, s.HTTPRequests, s.Rejected = 7, 5, 6, 8
	s.TopChannels = []command.ChannelStats{
		{Name: "news", Subscribers: 3, ChannelTraffic: shard.ChannelTraffic{Messages: 21, Deliveries: 63, Dropped: 2, PerSecondInMinute: 1.5}},
		{Name: "a\xff\n", ChannelTraffic: shard.ChannelTraffic{Messages: 22}},
	}
	s.Channels, s.Patterns, s.ShardChannels = 11, 12, 13
	s.UsedMemory, s.PeakMemory, s.ResidentMemory = 100, 200, 300
	for i := range int64(2) {
		st := shard.Stats{
			Connections: 20 + i, Sessions: 5 + i, SubscriberSessions: 3, NetInputBytes: 1000, NetOutputBytes: 2000,
			OutputLimitDisconnects: 1, QueryLimitDisconnects: 2, ProtocolErrors: 3, Panics: 1, Turns: 50 + i, Wakeups: 40 + i,
			Messages: 30 + i, Deliveries: 60 + i, Dropped: 9, BehindSessions: 2, OwedBytes: 4096, FanOutSum: 14, MessageBytesSum: 70,
		}
		st.FanOut[0], st.FanOut[3], st.FanOut[shard.SizeBuckets-1] = 2, 2, 1
		st.MessageBytes[4] = 5
		for r := range st.Closed {
			st.Closed[r] = int64(r + 1)
		}
		s.Shards = append(s.Shards, st)
		s.Total.Add(st)
	}
	return s
}

// scrape returns what a handler over the state exposes.
func scrape(t *testing.T, s State) map[string]*dto.MetricFamily {
	t.Helper()
	h := Handler(func() (State, bool) { return s, true }, slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value returns the value of the series with the label's value, or of the only
// one when label is "".
func value(t *testing.T, f *dto.MetricFamily, label string) float64 {
	t.Helper()
	for _, m := range f.GetMetric() {
		if label != "" && !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label }) {
			continue
		}
		if f.GetType() == dto.MetricType_COUNTER {
			return m.GetCounter().GetValue()
		}
		return m.GetGauge().GetValue()
	}
	t.Errorf("%s{%s} is missing", f.GetName(), label)
	return -1
}

func TestHandler_ExposesEveryRow(t *testing.T) {
	families := scrape(t, busy())
	kinds := map[kind]dto.MetricType{counter: dto.MetricType_COUNTER, gauge: dto.MetricType_GAUGE, histogram: dto.MetricType_HISTOGRAM}
	for _, m := range table() {
		f := families[m.name]
		if f == nil {
			t.Errorf("%s is not exposed", m.name)
			continue
		}
		if f.GetType() != kinds[m.kind] || f.GetHelp() != m.help {
			t.Errorf("%s: %v %q", m.name, f.GetType(), f.GetHelp())
		}
		for _, series := range f.GetMetric() {
			if n := len(series.GetLabel()); n != len(m.labels) {
				t.Errorf("%s has %d labels, want %q", m.name, n, m.labels)
			}
		}
	}
	for name := range families {
		if base, ok := strings.CutSuffix(name, "_total"); ok && families[base] != nil {
			t.Errorf("%s and %s are one family for OpenMetrics", name, base)
		}
	}
	for _, want := range []string{"go_goroutines", "process_cpu_seconds_total"} {
		if families[want] == nil {
			t.Errorf("%s is not exposed", want)
		}
	}
}

func TestHandler_Values(t *testing.T) {
	families := scrape(t, busy())
	for _, tc := range []struct {
		name, label string
		want        float64
	}{
		{"redis_up", "", 1},
		{"redis_instance_info", "8.0.6", 1},
		{"redis_start_time_seconds", "", 1_700_000_000.5},
		{"redis_uptime_in_seconds", "", 90},
		{"redis_connected_clients", "", 11},
		{"redis_config_maxclients", "", 10},
		{"redis_pubsub_clients", "", 6},
		{"redis_pubsub_channels", "", 11},
		{"redis_pubsub_patterns", "", 12},
		{"redis_pubsubshard_channels", "", 13},
		{"redis_connections_received_total", "", 41},
		{"redis_rejected_connections_total", "", 8},
		{"redis_commands_processed_total", "", 8},
		{"redis_commands_total", "publish", 7},
		{"redis_commands_total", "config|get", 1},
		{"redis_commands_duration_seconds_total", "publish", 1.5},
		{"redis_commands_rejected_calls_total", "publish", 2},
		{"redis_commands_failed_calls_total", "publish", 1},
		{"redis_errors_total", "NOPERM", 4},
		{"redis_acl_access_denied_auth_total", "", 5},
		{"redis_acl_access_denied_cmd_total", "", 14},
		{"redis_acl_access_denied_channel_total", "", 15},
		{"redis_slowlog_length", "", 16},
		{"broker_queued_held_bytes", "", 2048},
		{"redis_net_input_bytes_total", "", 2000},
		{"redis_net_output_bytes_total", "", 4000},
		{"redis_client_output_buffer_limit_disconnections_total", "", 2},
		{"redis_client_query_buffer_limit_disconnections_total", "", 4},
		{"redis_memory_used_bytes", "", 100},
		{"redis_memory_used_peak_bytes", "", 200},
		{"redis_memory_used_rss_bytes", "", 300},
		{"broker_build_info", "1.2.3", 1},
		{"broker_shards", "", 2},
		{"broker_messages_published_total", "", 61},
		{"broker_messages_delivered_total", "", 121},
		{"broker_messages_dropped_total", "", 18},
		{"broker_channel_messages_per_second", "news", 1.5},
		{"broker_channel_messages_total", "news", 21},
		{"broker_channel_messages_total", `"a\xff\n"`, 22},
		{"broker_channel_deliveries_total", "news", 63},
		{"broker_channel_dropped_total", "news", 2},
		{"broker_channel_subscribers", "news", 3},
		{"broker_slow_subscribers", "", 4},
		{"broker_queued_bytes", "", 8192},
		{"broker_connections_closed_total", "client", 2},
		{"broker_connections_closed_total", "output_soft_limit", 2 * float64(shard.CloseBySoftLimit+1)},
		{"broker_protocol_errors_total", "", 6},
		{"broker_http_requests_refused_total", "", 6},
		{"broker_session_panics_total", "", 2},
		{"broker_shard_sessions", "1", 6},
		{"broker_shard_messages_published_total", "0", 30},
		{"broker_shard_messages_delivered_total", "1", 61},
		{"broker_shard_turns_total", "1", 51},
		{"broker_shard_wakeups_total", "0", 40},
	} {
		if got := value(t, families[tc.name], tc.label); got != tc.want {
			t.Errorf("%s{%s} = %v, want %v", tc.name, tc.label, got, tc.want)
		}
	}
}

func TestHandler_Histogram(t *testing.T) {
	h := scrape(t, busy())["broker_message_receivers"].GetMetric()[0].GetHistogram()
	if h.GetSampleCount() != 10 || h.GetSampleSum() != 28 {
		t.Errorf("count %d, sum %v", h.GetSampleCount(), h.GetSampleSum())
	}
	// Of each shard two messages had no receiver, two from 4 to 7, one more
	// than can be told.
	for i, b := range h.GetBucket() {
		if le := b.GetUpperBound(); le < 1e300 && le != float64(int64(1)<<i-1) {
			t.Errorf("bucket %d ends at %v, want the largest number of %d bits", i, le, i)
		}
		want := uint64(4)
		switch le := b.GetUpperBound(); {
		case le > 1e300:
			want = 10
		case le >= 7:
			want = 8
		}
		if b.GetCumulativeCount() != want {
			t.Errorf("le=%v: %d, want %d", b.GetUpperBound(), b.GetCumulativeCount(), want)
		}
	}
}

func TestHandler_CommandTimes(t *testing.T) {
	series := scrape(t, busy())["broker_command_duration_seconds"].GetMetric()
	if len(series) != 1 || series[0].GetLabel()[0].GetValue() != "publish" {
		t.Fatalf("series %v, want publish alone", series)
	}
	h := series[0].GetHistogram()
	if h.GetSampleCount() != 6 || h.GetSampleSum() != 0.003 {
		t.Errorf("count %d, sum %v", h.GetSampleCount(), h.GetSampleSum())
	}
	for le, want := range map[float64]uint64{1.024e-6: 3, 4.096e-6: 4, 0.268435456: 4, 1.073741824: 5, 68.719476736: 5} {
		i := slices.IndexFunc(h.GetBucket(), func(b *dto.Bucket) bool { return b.GetUpperBound() == le })
		if i < 0 || h.GetBucket()[i].GetCumulativeCount() != want {
			t.Errorf("le=%v: bucket %d of %v, want %d", le, i, h.GetBucket(), want)
		}
	}
}

func TestChannelLabel_NoTwoNamesAreOne(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"", "a", `"a"`, "a\xff", `"a\xff"`, "\xff", "\n", "é", "e\u0301"} {
		label := channelLabel(name)
		if other, twice := seen[label]; twice || !utf8.ValidString(label) {
			t.Errorf("%q and %q are both %q", name, other, label)
		}
		seen[label] = name
	}
}

func TestHandler_NoStateIsAnError(t *testing.T) {
	h := Handler(func() (State, bool) { return State{}, false }, slog.New(slog.DiscardHandler))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), errNoState.Error()) {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// The state of a broker that has done nothing has every family that needs no
// command or error.
func TestHandler_ZeroState(t *testing.T) {
	families := scrape(t, State{})
	if families["redis_connected_clients"] == nil || families["broker_message_receivers"] == nil {
		t.Error("families are missing")
	}
}

func TestDocument_IsUpToDate(t *testing.T) {
	const path, begin, end = "../../docs/metrics.md", "<!-- metrics:begin -->\n", "<!-- metrics:end -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	part, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no part between its markers", path)
	}
	if part == Markdown() {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the table says: go test ./internal/metrics -update", path)
	}
	if err := os.WriteFile(path, []byte(before+begin+Markdown()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkScrape(b *testing.B) {
	s := busy()
	h := Handler(func() (State, bool) { return s, true }, slog.New(slog.DiscardHandler))
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
	}
}
