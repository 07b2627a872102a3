package broker

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"broker/internal/config"
)

// A browser asks the dashboard of a broker, as one user.
type browser struct {
	t              *testing.T
	base           string
	user, password string
}

func newBrowser(t *testing.T, b *Broker) *browser {
	return &browser{t: t, base: "http://" + b.AdminAddr().String() + "/dashboard/"}
}

func (b *browser) request(method, path, body string, change ...func(*http.Request)) *http.Response {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if b.user != "" {
		r.SetBasicAuth(b.user, b.password)
	}
	r.Header.Set("X-Broker", "1")
	for _, f := range change {
		f(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// do returns the status and the body.
func (b *browser) do(method, path, body string, change ...func(*http.Request)) (int, string) {
	b.t.Helper()
	resp := b.request(method, path, body, change...)
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// An eventReader reads server-sent events.
type eventReader struct {
	t *testing.T
	r *bufio.Reader
}

func (b *browser) events(path string) *eventReader {
	b.t.Helper()
	resp := b.request("GET", path, "")
	if resp.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: %s", path, resp.Status)
	}
	return &eventReader{b.t, bufio.NewReader(resp.Body)}
}

// next returns the data of the next event of a kind, decoded into v.
func (e *eventReader) next(kind string, v any) {
	e.t.Helper()
	for current := ""; ; {
		line, err := e.r.ReadString('\n')
		if err != nil {
			e.t.Fatalf("no %s event: %v", kind, err)
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			current = strings.TrimSpace(name)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && current == kind {
			if err := json.Unmarshal([]byte(data), v); err != nil {
				e.t.Fatal(err)
			}
			return
		}
	}
}

func withDashboard(c *config.Config) { c.Admin = "127.0.0.1:0" }

func TestDashboard_ShowsAndDoes(t *testing.T) {
	drivers(t, func(t *testing.T, io config.Driver) {
		b := start(t, func(c *config.Config) { withDashboard(c); c.IO = io })
		web := newBrowser(t, b)
		if status, page := web.do("GET", "", ""); status != 200 || !strings.Contains(page, "<title>broker</title>") {
			t.Fatalf("%d %.80q", status, page)
		}
		sub := dial(t, b.Addrs()[0])
		sub.do("SUBSCRIBE news", "*3", "$9", "subscribe", "$4", "news", ":1")

		tail := web.events("tail?name=news")
		var opened map[string]string
		tail.next("open", &opened)
		const xss = `<img src=x onerror=alert(1)>`
		if status, text := web.do("POST", "publish", `{"Channel":"news","Payload":"`+xss+`"}`); status != 200 || text != `{"receivers":2}` {
			t.Fatalf("publish: %d %s", status, text)
		}
		sub.expect("*3", "$7", "message", "$4", "news", "$"+strconv.Itoa(len(xss)), xss)
		var m struct {
			Payload string
			Bytes   int
		}
		tail.next("message", &m)
		if m.Payload != xss || m.Bytes != len(xss) {
			t.Errorf("the tail shows %+v", m)
		}
		sub.do("PING \"\\x00\\xff\"", "*2", "$4", "pong", "$2", "\x00\xff")
		p := dial(t, b.Addrs()[0])
		p.do(`PUBLISH news "\x00\xff"`, ":2")
		tail.next("message", &m)
		if m.Payload != `\x00\xff` || m.Bytes != 2 {
			t.Errorf("bytes that are no text are shown as %q", m.Payload)
		}

		var s struct {
			Info     map[string]string
			Errors   map[string]string
			Channels []map[string]any
		}
		web.events("events").next("snapshot", &s)
		if len(s.Errors) > 0 || s.Info["broker_messages_published"] != "2" || s.Info["broker_shard_1"] == "" ||
			len(s.Channels) != 1 || s.Channels[0]["channel"] != "news" || s.Channels[0]["messages"] != 2.0 {
			t.Errorf("snapshot: %+v", s)
		}
		var d struct{ Subscribers []struct{ ID int64 } }
		_, text := web.do("GET", "channel?name=news", "")
		if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Subscribers) != 2 {
			t.Fatalf("%v in %s", err, text)
		}
		if status, text := web.do("POST", "kill", `{"ID":`+strconv.FormatInt(d.Subscribers[0].ID, 10)+`}`); status != 200 || text != `{"closed":1}` {
			t.Errorf("kill: %d %s", status, text)
		}
		for _, c := range []struct {
			method, path, body string
			status             int
			change             func(*http.Request)
		}{
			{"POST", "publish", `{"Channel":"news"}`, 403, func(r *http.Request) { r.Header.Del("X-Broker") }},
			{"POST", "publish", `{`, 400, func(*http.Request) {}},
			{"POST", "kill", `{"ID":-1}`, 400, func(*http.Request) {}},
			{"GET", "publish", "", 404, func(*http.Request) {}},
			{"GET", "", "", 421, func(r *http.Request) { r.Host = "evil.example:80" }},
			{"GET", "", "", 200, func(r *http.Request) { r.Host = "localhost:1" }},
			{"GET", "channel?name=" + strings.Repeat("x", 5000), "", 400, func(*http.Request) {}},
		} {
			if status, text := web.do(c.method, c.path, c.body, c.change); status != c.status {
				t.Errorf("%s %.20s: %d %.60s, want %d", c.method, c.path, status, text, c.status)
			}
		}
	})
}

// The access control lists decide what a browser's user sees and does.
func TestDashboard_IsTheUserWhoLoggedIn(t *testing.T) {
	b := start(t, func(c *config.Config) { withDashboard(c); c.RequirePass = "secret" })
	web := newBrowser(t, b)
	if status, _ := web.do("GET", "events", ""); status != http.StatusUnauthorized {
		t.Errorf("without a password: %d", status)
	}
	web.user, web.password = "default", "wrong"
	if status, _ := web.do("POST", "publish", `{"Channel":"a"}`); status != http.StatusUnauthorized {
		t.Errorf("with a wrong password: %d", status)
	}
	web.password = "secret"
	if status, text := web.do("POST", "publish", `{"Channel":"a"}`); status != http.StatusOK {
		t.Errorf("with the password: %d %s", status, text)
	}
	c := dial(t, b.Addrs()[0])
	c.do("AUTH secret", "+OK")
	c.do("ACL SETUSER viewer on >pw +info +ping +subscribe +pubsub &public.*", "+OK")
	web.user, web.password = "viewer", "pw"
	var s struct {
		Info   map[string]string
		Errors map[string]string
	}
	web.events("events").next("snapshot", &s)
	if s.Info["redis_version"] == "" || !strings.HasPrefix(s.Errors["denied"], "NOPERM") {
		t.Errorf("a viewer sees %d fields and errors %v", len(s.Info), s.Errors)
	}
	for path, body := range map[string]string{"publish": `{"Channel":"public.a"}`, "kill": `{"ID":1}`} {
		if status, text := web.do("POST", path, body); status != http.StatusForbidden || !strings.HasPrefix(text, "NOPERM") {
			t.Errorf("%s by a viewer: %d %s", path, status, text)
		}
	}
	if status, _ := web.do("GET", "tail?name=secret", ""); status != http.StatusForbidden {
		t.Errorf("a tail of a channel that a viewer may not have: %d", status)
	}
}

// Streams end with the broker, and so do their sessions with the browser.
func TestDashboard_StreamsEnd(t *testing.T) {
	b := start(t, withDashboard)
	web := newBrowser(t, b)
	gone := web.request("GET", "tail?name=a", "")
	if _, err := bufio.NewReader(gone.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if n := b.group.Sessions(); n == 0 {
		t.Fatal("a tail has no session")
	}
	gone.Body.Close()
	for end := time.Now().Add(20 * time.Second); b.group.Sessions() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the session of a browser that is gone stays")
		}
	}
	// The cleanup of start shuts down while this one is open.
	web.events("tail?name=a").next("open", new(any))
}
