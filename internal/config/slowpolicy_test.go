package config

import (
	"strings"
	"testing"
)

func TestSlowPolicies(t *testing.T) {
	c := Default()
	next, err := c.Set([]Pair{
		{"slow-subscriber-policy", "drop-oldest"}, {"slow-subscriber-limit", "2mb"},
		{"slow-subscriber-channel-policy", "ticks.* CONFLATE 64kb  logs.* drop-newest 1000"},
		{"slow-subscriber-user-policy", "bob disconnect 1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"slow-subscriber-policy":         "drop-oldest",
		"slow-subscriber-limit":          "2097152",
		"slow-subscriber-channel-policy": "ticks.* conflate 65536 logs.* drop-newest 1000",
		"slow-subscriber-user-policy":    "bob disconnect 1",
	} {
		if got := next.Get(name); len(got) != 1 || got[0].Value != want {
			t.Errorf("%s is %v, want %q", name, got, want)
		}
	}
	for _, tt := range []struct{ name, value, why string }{
		{"slow-subscriber-policy", "keep", "argument(s) must be one of the following: disconnect, drop-oldest, drop-newest, conflate"},
		{"slow-subscriber-limit", "0", "argument must be between 1 and 1099511627776 inclusive"},
		{"slow-subscriber-channel-policy", "a conflate", "expected groups of three: NAME POLICY BYTES"},
		{"slow-subscriber-channel-policy", "a keep 1", "policy must be one of disconnect, drop-oldest, drop-newest, conflate"},
		{"slow-subscriber-channel-policy", "a conflate 1 a conflate 2", "argument names something twice"},
		{"slow-subscriber-channel-policy", "a conflate 0", "argument must be between 1 and 1099511627776 inclusive"},
		{"slow-subscriber-channel-policy", strings.Repeat("a conflate 1 ", 257), "at most 256 groups are accepted"},
	} {
		_, err := c.Set([]Pair{{tt.name, tt.value}})
		want := "ERR CONFIG SET failed (possibly related to argument '" + tt.name + "') - " + tt.why
		if err == nil || err.Error() != want {
			t.Errorf("%s %.40q: %v, want %s", tt.name, tt.value, err, want)
		}
	}
}

func TestSpin(t *testing.T) {
	c := Default()
	for value, want := range map[string]string{"off": "off", "AUTO": "auto", "1": "1", "1000": "1000"} {
		next, err := c.Set([]Pair{{"spin", value}})
		if err != nil || next.Get("spin")[0].Value != want {
			t.Errorf("%s: %v, %v", value, next.Get("spin"), err)
		}
	}
	for _, value := range []string{"", "0", "-1", "1001", "yes", "1us"} {
		if _, err := c.Set([]Pair{{"spin", value}}); err == nil {
			t.Errorf("%q is accepted", value)
		}
	}
}
