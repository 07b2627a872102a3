package monitoring

import (
	"bufio"
	"context"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"broker/integration/harness"
	"broker/internal/metrics"
)

// work makes most metrics differ from zero.
func work(t *testing.T, s *server) {
	t.Helper()
	sub, pub := dial(t, s), dial(t, s)
	do(t, sub, "SUBSCRIBE", "a")
	do(t, dial(t, s), "PSUBSCRIBE", "a*")
	do(t, dial(t, s), "SSUBSCRIBE", "b")
	for range 5 {
		do(t, pub, "PUBLISH", "a", "hello")
		do(t, pub, "PUBLISH", "nobody", strings.Repeat("x", 1000))
	}
	do(t, pub, "NOPE")
	do(t, pub, "PUBLISH", "few")
	do(t, dial(t, s), "QUIT")
}

// INFO and the metrics tell the same numbers, as far as neither changes them.
func TestMetrics_AreThoseOfINFO(t *testing.T) {
	s := start(t)
	work(t, s)
	c := dial(t, s)
	info := map[string]float64{}
	for line := range strings.Lines(do(t, c, "INFO", "everything").Text) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			info[name] = v
		}
	}
	_, text := s.get(t, "/metrics", nil)
	got := series(t, text)
	for name, field := range map[string]string{
		"redis_connected_clients":                                     "connected_clients",
		"redis_config_maxclients":                                     "maxclients",
		"redis_pubsub_clients":                                        "pubsub_clients",
		"redis_pubsub_channels":                                       "pubsub_channels",
		"redis_pubsub_patterns":                                       "pubsub_patterns",
		"redis_pubsubshard_channels":                                  "pubsubshard_channels",
		"redis_connections_received_total":                            "total_connections_received",
		"redis_rejected_connections_total":                            "rejected_connections",
		"redis_commands_processed_total":                              "total_commands_processed",
		"redis_net_input_bytes_total":                                 "total_net_input_bytes",
		"redis_client_output_buffer_limit_disconnections_total":       "client_output_buffer_limit_disconnections",
		"broker_messages_published_total":                             "broker_messages_published",
		"broker_messages_delivered_total":                             "broker_messages_delivered",
		"broker_shards":                                               "broker_shards",
		`broker_connections_closed_total{reason="command"}`:           "broker_closed_by_command",
		`broker_connections_closed_total{reason="output_hard_limit"}`: "broker_closed_by_output_hard_limit",
	} {
		want, known := info[field]
		if v, ok := got[name]; !ok || !known || v != want {
			t.Errorf("%s is %v (%v), %s in INFO %v (%v)", name, v, ok, field, want, known)
		}
	}
	for name, want := range map[string]float64{
		`redis_commands_total{cmd="publish"}`:                10,
		`redis_commands_rejected_calls_total{cmd="publish"}`: 1,
		`redis_errors_total{err="ERR"}`:                      2,
		"broker_messages_published_total":                    10,
		"broker_messages_delivered_total":                    10,
		"broker_message_receivers_count":                     10,
		"broker_message_receivers_sum":                       10,
		`broker_message_receivers_bucket{le="0"}`:            5,
		`broker_message_receivers_bucket{le="3"}`:            10,
		"broker_message_payload_bytes_sum":                   5 * 1005,
		`broker_message_payload_bytes_bucket{le="7"}`:        5,
		"redis_pubsub_clients":                               3,
		"redis_up":                                           1,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (%v), want %v", name, v, ok, want)
		}
	}
}

// Only the busiest channels are named, over all loops together.
func TestMetrics_TopChannels(t *testing.T) {
	const named = `broker_channel_messages_total{channel="`
	silent, s := start(t), start(t, "--admin-top-channels", "2")
	for _, b := range []*server{silent, s} {
		for range 3 { // publishers on both loops
			c := dial(t, b)
			for channel, n := range map[string]int{"rare": 1, "often": 20, "a\xff": 10} {
				for range n {
					do(t, c, "PUBLISH", channel, "x")
				}
			}
		}
	}
	if _, text := silent.get(t, "/metrics", nil); strings.Contains(text, named) {
		t.Error("channels are named without being asked for")
	}
	_, text := s.get(t, "/metrics", nil)
	got := map[string]float64{}
	for name, v := range series(t, text) {
		if rest, ok := strings.CutPrefix(name, named); ok {
			got[rest] = v
		}
	}
	if want := map[string]float64{`often"}`: 60, `\"a\\xff\""}`: 30}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The reference parser of OpenMetrics takes what is sent to those who ask for
// that format.
func TestMetrics_OpenMetrics(t *testing.T) {
	python := need(t, debianPython, "python3-prometheus-client", "-c", "import prometheus_client.openmetrics.parser")
	s := start(t, "--admin-top-channels", "5")
	work(t, s)
	do(t, dial(t, s), "PUBLISH", "quo\"te\\\n\xff", "x")
	_, text := s.get(t, "/metrics", func(r *http.Request) {
		r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	})
	if !strings.HasSuffix(text, "# EOF\n") {
		t.Fatalf("not OpenMetrics: ...%q", text[max(0, len(text)-100):])
	}
	const program = `
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    print(family.name, family.type, len(family.samples))
`
	cmd := exec.Command(python, "-c", program)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range metrics.Names() {
		// A family of OpenMetrics is named without the suffix of its samples.
		if family := "\n" + strings.TrimSuffix(name, "_total") + " "; !strings.Contains("\n"+string(out), family) {
			t.Errorf("the parser has not found %s", name)
		}
	}
}

// redis_exporter is content with INFO and with the rest of what it asks.
func TestExporter_FindsRedisUp(t *testing.T) {
	program := need(t, "prometheus-redis-exporter", "prometheus-redis-exporter")
	s := start(t)
	work(t, s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(program, "-redis.addr", "redis://"+s.addr, "-web.listen-address", addr)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	timer := time.AfterFunc(harness.Patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	var said []string
	ready := false
	for lines := bufio.NewScanner(log); !ready && lines.Scan(); {
		said = append(said, lines.Text())
		ready = strings.Contains(lines.Text(), "Providing metrics")
	}
	if !ready {
		t.Fatalf("redis_exporter does not start:\n%s", strings.Join(said, "\n"))
	}
	exporter := &server{admin: "http://" + addr}
	var text string
	for begin := time.Now(); ; {
		// It says so a moment before it listens.
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			_, text = exporter.get(t, "/metrics", nil)
			break
		} else if time.Since(begin) > harness.Patience {
			t.Fatal(err)
		}
	}
	got := series(t, text)
	for name, want := range map[string]float64{
		"redis_up": 1,
		`redis_exporter_last_scrape_error{err=""}`: 0,
		"redis_pubsub_channels":                    1,
		"redis_pubsub_patterns":                    1,
		`redis_commands_total{cmd="publish"}`:      10,
		`redis_errors_total{err="ERR"}`:            2,
		"redis_config_maxclients":                  10000,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("redis_exporter: %s is %v (%v), want %v", name, v, ok, want)
		}
	}
	// What it makes of the broker it also makes of Redis; ours adds no name
	// that means something else there.
	_, text = s.get(t, "/metrics", nil)
	ours := series(t, text)
	for _, name := range []string{"redis_connections_received_total", "redis_pubsub_channels", "redis_config_maxclients"} {
		if _, ok := got[name]; !ok {
			t.Errorf("redis_exporter has no %s", name)
		}
		if _, ok := ours[name]; !ok {
			t.Errorf("the broker has no %s", name)
		}
	}
}

// While the shutdown delivers, probes learn of it and scrapes end, whenever
// they come.
func TestShutdown_ProbesAndScrapes(t *testing.T) {
	s := start(t, "--client-output-buffer-limit", "pubsub 0 0 0")
	if code, _ := s.get(t, "/readyz", nil); code != http.StatusOK {
		t.Fatalf("readyz %d before the shutdown", code)
	}
	sub := dial(t, s) // gives the shutdown something to wait for
	do(t, sub, "SUBSCRIBE", "a")
	pub := dial(t, s)
	for range 32 {
		do(t, pub, "PUBLISH", "a", strings.Repeat("x", 1<<20))
	}
	stop := make(chan struct{})
	var scrapers sync.WaitGroup
	for range 3 {
		scrapers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if r, err := http.Get(s.admin + "/metrics"); err == nil {
					r.Body.Close()
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	b := s.Broker
	s.Broker = nil
	go func() { ended <- b.Shutdown(ctx) }()
	for {
		code, body := s.get(t, "/readyz", nil)
		if code == http.StatusServiceUnavailable {
			break
		}
		if code != http.StatusOK {
			t.Fatalf("readyz %d %q", code, body)
		}
	}
	// The loops are about to end: nobody may wait for their answer any more.
	// The handler answers 503 when it is busy with the scrapes above.
	for {
		code, body := s.get(t, "/metrics", nil)
		if code == http.StatusServiceUnavailable && strings.Contains(body, "Limit of concurrent requests") {
			continue
		}
		if code != http.StatusInternalServerError || !strings.Contains(body, "shuts down") {
			t.Errorf("metrics during the shutdown: %d %.200q", code, body)
		}
		break
	}
	if code, _ := s.get(t, "/healthz", nil); code != http.StatusOK {
		t.Errorf("healthz %d during the shutdown", code)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(harness.Patience):
		t.Fatal("the shutdown does not end")
	}
	close(stop)
	scrapers.Wait()
	if c, err := net.Dial("tcp", strings.TrimPrefix(s.admin, "http://")); err == nil {
		c.Close()
		t.Error("the admin port is still open")
	}
}

func TestAdmin_Flags(t *testing.T) {
	plain := start(t)
	if code, _ := plain.get(t, "/debug/pprof/", nil); code != http.StatusNotFound {
		t.Errorf("profiles without being asked for: %d", code)
	}
	s := start(t, "--admin-pprof", "yes", "--admin-auth", "yes", "--requirepass", "secret")
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		for password, want := range map[string]int{"": 401, "guess": 401, "secret": 200} {
			code, _ := s.get(t, path, func(r *http.Request) { r.SetBasicAuth("default", password) })
			if code != want {
				t.Errorf("%s with password %q: %d, want %d", path, password, code, want)
			}
		}
	}
	c := dial(t, s)
	do(t, c, "AUTH", "secret")
	for user, rules := range map[string]string{"may": "+info", "maynot": "+ping", "isoff": "off +info"} {
		do(t, c, append([]string{"ACL", "SETUSER", user, "on", ">secret"}, strings.Fields(rules)...)...)
	}
	for user, want := range map[string]int{"may": 200, "maynot": 401, "isoff": 401, "nobody": 401} {
		code, _ := s.get(t, "/metrics", func(r *http.Request) { r.SetBasicAuth(user, "secret") })
		if code != want {
			t.Errorf("user %s: %d, want %d", user, code, want)
		}
	}
}

// Guessing passwords over HTTP is no way around the delays of AUTH: a second
// listener would double the rate. Of nine the last four are delayed, by 1.5 s in all.
func TestAdmin_GuessesCountAsLogins(t *testing.T) {
	s := start(t, "--admin-auth", "yes", "--requirepass", "secret")
	begin := time.Now()
	const guesses = 9
	for range guesses {
		if code, _ := s.get(t, "/metrics", func(r *http.Request) { r.SetBasicAuth("default", "guess") }); code != 401 {
			t.Errorf("%d", code)
		}
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("%d guesses took %v", guesses, took)
	}
}
