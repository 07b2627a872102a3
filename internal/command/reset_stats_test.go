package command

import (
	"math"
	"reflect"
	"strconv"
	"testing"
	"time"

	"broker/shard"
)

func TestConfigResetStat_ResetsWhatInfoCounts(t *testing.T) {
	rejected := int64(7)
	srv := startServer(t, 2, func(c *Config) { c.Rejected = func() int64 { return rejected } })
	a, b := srv.dial(), srv.dial()
	for _, c := range []*client{a, b} {
		c.do("SELECT", "x")
		c.do("NOPE")
		c.do("HELLO", "2", "AUTH", "u", "p")
	}
	b.do("SUBSCRIBE", "s")
	a.do("PUBLISH", "s", "x")
	b.read()
	closing := srv.dial()
	closing.do("QUIT")
	closing.expectClosed()
	http := srv.dial()
	http.write("POST / HTTP/1.1\r\n")
	http.expectClosed()
	broken := srv.dial()
	broken.write("*1\r\n$-5\r\n")
	broken.read()
	broken.expectClosed()

	counts := []string{
		"total_connections_received", "total_commands_processed", "total_net_input_bytes", "total_net_output_bytes",
		"rejected_connections", "total_error_replies", "eventloop_cycles", "acl_access_denied_auth",
		"broker_messages_published", "broker_messages_delivered", "broker_protocol_errors",
		"broker_http_requests_refused", "broker_loop_turns", "broker_closed_by_command", "broker_closed_by_protocol_error",
	}
	var before map[string]string
	for before["connected_clients"] != "2" { // the closed ones are counted once they are gone
		_, before = fields(t, text(t, a.do("INFO", "everything")))
	}
	for _, name := range counts {
		if before[name] == "0" || before[name] == "" {
			t.Errorf("%s:%s before", name, before[name])
		}
	}
	rejected = 9
	if got := a.do("CONFIG", "RESETSTAT"); got != "+OK\r\n" {
		t.Fatalf("got %q", got)
	}
	rejected = 10
	_, after := fields(t, text(t, a.do("INFO", "everything")))
	for name, want := range map[string]string{
		"total_connections_received": "0", "rejected_connections": "1", "total_error_replies": "0", "acl_access_denied_auth": "0",
		"total_commands_processed":  "2", // RESETSTAT itself and INFO
		"broker_messages_published": "0", "broker_messages_delivered": "0", "broker_protocol_errors": "0",
		"broker_http_requests_refused": "0", "broker_closed_by_command": "0", "broker_closed_by_protocol_error": "0",
		// States are no counts.
		"connected_clients": "2", "pubsub_clients": "1", "pubsub_channels": "1",
	} {
		if after[name] != want {
			t.Errorf("%s:%s, want %s", name, after[name], want)
		}
	}
	for _, name := range counts {
		was, _ := strconv.Atoi(before[name])
		is, err := strconv.Atoi(after[name])
		if err != nil || is < 0 || is >= was {
			t.Errorf("%s:%s, before %d", name, after[name], was)
		}
	}
	for name := range after {
		if name == "errorstat_ERR" || name == "cmdstat_select" {
			t.Errorf("%s is still listed", name)
		}
	}
	if v := after["cmdstat_config|resetstat"]; v[:8] != "calls=1," {
		t.Errorf("config|resetstat: %s", v)
	}
}

// TestSince_CoversEveryCounter: a counter that is added to shard.Stats must be
// subtracted, or named here as a state.
func TestSince_CoversEveryCounter(t *testing.T) {
	states := map[string]bool{"Sessions": true, "SubscriberSessions": true, "BehindSessions": true, "OwedBytes": true, "CPUNanos": true}
	fill := func(n int64) shard.Stats {
		var st shard.Stats
		v := reflect.ValueOf(&st).Elem()
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Kind() == reflect.Array {
				for j := range f.Len() {
					f.Index(j).SetInt(n)
				}
			} else {
				f.SetInt(n)
			}
		}
		return st
	}
	got := reflect.ValueOf(since(fill(10), fill(3)))
	for i := range got.NumField() {
		name, want := got.Type().Field(i).Name, int64(7)
		if states[name] {
			want = 10
		}
		f := got.Field(i)
		if f.Kind() == reflect.Array {
			for j := range f.Len() {
				if f.Index(j).Int() != want {
					t.Errorf("%s[%d] is %d, want %d", name, j, f.Index(j).Int(), want)
				}
			}
		} else if f.Int() != want {
			t.Errorf("%s is %d, want %d", name, f.Int(), want)
		}
	}
}

func TestRates_BeginAgainAfterAReset(t *testing.T) {
	start := time.Unix(1000, 0)
	d := New(Config{Databases: 1, Started: start})
	d.sampleRates(start.Add(10*time.Second), 1000, 0, 0)
	d.resetTotals(start.Add(20 * time.Second))
	if ops, _, _ := d.sampleRates(start.Add(24*time.Second), 80, 0, 0); math.Abs(ops-20) > 1e-9 {
		t.Errorf("%v per second, want 20", ops)
	}
}
