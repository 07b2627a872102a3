package cases

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"broker/integration/harness"
)

// TestRunner_NoticesWhatIsWrong plays conversations that are false in one
// place: the runner must say so, or every green case means nothing.
func TestRunner_NoticesWhatIsWrong(t *testing.T) {
	target := harness.StartRedis(t)
	for name, c := range map[string]struct {
		steps string
		says  string
	}{
		"other bytes":        {`[{"conn":"a","send":"PING\\r\\n"},{"conn":"a","expect":"+PING\\r\\n"}]`, "differs at byte 2"},
		"too few bytes":      {`[{"conn":"a","send":"PING\\r\\n"},{"conn":"a","expect":"+PONG\\r\\n","repeat":2}]`, "timed out after 7 of 14 bytes"},
		"closed instead":     {`[{"conn":"a","send":"QUIT\\r\\n"},{"conn":"a","expect":"+OK\\r\\n+PONG\\r\\n"}]`, "closed after 5 of 12 bytes"},
		"none of several":    {`[{"conn":"a","send":"PING\\r\\n"},{"conn":"a","expect_any":["+OK\\r\\n",":1\\r\\n"]}]`, "none of 2 alternatives"},
		"other prefix":       {`[{"conn":"a","send":"HELLO 3\\r\\n"},{"conn":"a","expect_prefix":"*14\\r\\n"}]`, "differs at byte 0"},
		"no match":           {`[{"conn":"a","send":"PING\\r\\n"},{"conn":"a","expect_regex":"\\+PON(?=X)"}]`, "no match"},
		"match not at start": {`[{"conn":"a","send":"PING\\r\\n"},{"conn":"a","expect_regex":"PONG"}]`, "no match"},
		"not closed":         {`[{"conn":"a","send":"PING\\r\\n"},{"conn":"a","expect":"+PONG\\r\\n"},{"conn":"a","expect_closed":true}]`, "still open"},
		"bytes, not closed":  {`[{"conn":"a","send":"PING\\r\\n"},{"conn":"a","expect_closed":true}]`, "expected close, got"},
		"not silent":         {`[{"conn":"a","send":"PING\\r\\n"},{"conn":"a","expect_silence_ms":10000}]`, "expected silence, got"},
		"closed, not silent": {`[{"conn":"a","send":"*x\\r\\n"},{"conn":"a","drain":true},{"conn":"a","expect_silence_ms":10000}]`, "expected silence, closed"},
		"unknown variable":   {`[{"conn":"a","send":"${who}"}]`, "never captured"},
		"unknown form":       {`[{"conn":"a"}]`, "unknown step"},
		"failing cleanup":    {`[]`, "cleanup"},
	} {
		t.Run(name, func(t *testing.T) {
			var one Case
			if err := json.Unmarshal([]byte(c.steps), &one.Steps); err != nil {
				t.Fatal(err)
			}
			if name == "failing cleanup" {
				one.Cleanup = []Step{{Conn: "z"}}
			}
			r := &run{addr: target.Addr, limit: 300 * time.Millisecond, slowFactor: 1}
			err := r.play(one)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error that says %q", err, c.says)
			}
		})
	}
}

// TestRunner_RegexOverManyReads matches a pattern that spans megabytes and
// captures, however the input is cut.
func TestRunner_RegexOverManyReads(t *testing.T) {
	const steps = `[
		{"conn":"a","send":"ECHO x{i:05d}\\r\\n","repeat":20000},
		{"conn":"a","send":"ECHO y{i}\\r\\n","repeat":1},
		{"conn":"a","expect_regex":"(?:\\$6\\r\\nx\\d{5}\\r\\n){20000}\\$2\\r\\n(?P<last>\\S+)\\r\\n"},
		{"conn":"a","send":"ECHO ${last}z\\r\\n"},
		{"conn":"a","expect":"$3\\r\\ny0z\\r\\n"}]`
	var c Case
	if err := json.Unmarshal([]byte(steps), &c.Steps); err != nil {
		t.Fatal(err)
	}
	r := &run{addr: harness.StartRedis(t).Addr, limit: harness.Patience, slowFactor: slowFactor()}
	if err := r.play(c); err != nil {
		t.Error(err)
	}
}
