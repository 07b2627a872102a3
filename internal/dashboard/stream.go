package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// inside stands where a client wants an address. It is one, so that nothing
// looks it up.
const inside = "127.0.0.1:0"

// quiet switches off a feature of hosted servers.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// client returns a client for the user whom the request names, or for the
// default user.
func (d *dashboard) client(r *http.Request) *redis.Client {
	user, password, _ := r.BasicAuth()
	return redis.NewClient(&redis.Options{
		Addr:                     inside,
		Dialer:                   func(context.Context, string, string) (net.Conn, error) { return d.cfg.Dial() },
		Protocol:                 3,
		Username:                 user,
		Password:                 password,
		DisableIdentity:          true,
		MaintNotificationsConfig: quiet(),
		OnConnect: func(ctx context.Context, cn *redis.Conn) error {
			_ = cn.ClientSetName(ctx, "dashboard").Err() // not everybody may
			return nil
		},
		PoolSize:     2,
		MaxRetries:   -1,
		DialTimeout:  commandPeriod,
		ReadTimeout:  commandPeriod,
		WriteTimeout: commandPeriod,
	})
}

// A stream sends server-sent events.
type stream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return &stream{w, http.NewResponseController(w)}
}

// send sends one event with v as JSON, which has no line breaks.
func (s *stream) send(event string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := s.rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, data); err != nil {
		return err
	}
	return s.rc.Flush()
}

// events sends a snapshot each second.
func (d *dashboard) events(w http.ResponseWriter, r *http.Request, c *redis.Client) {
	s := newStream(w)
	tick := time.NewTicker(eventPeriod)
	defer tick.Stop()
	for {
		if err := s.send("snapshot", snapshot(r.Context(), c)); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-d.cfg.Stopping:
			return
		}
	}
}

// snapshot asks for everything that the page shows. What the user may not see
// is an error text in its place.
func snapshot(ctx context.Context, c *redis.Client) map[string]any {
	pipe := c.Pipeline()
	asked := map[string]*redis.Cmd{
		"info":     pipe.Do(ctx, "INFO", "ALL"),
		"channels": pipe.Do(ctx, "PUBSUB", "STATS"),
		"slow":     pipe.Do(ctx, "PUBSUB", "SLOW", "COUNT", 50),
		"denied":   pipe.Do(ctx, "ACL", "LOG", 10),
	}
	out := map[string]any{"time": time.Now().UnixMilli()}
	failures := map[string]string{}
	// An error of a command is looked at below; others concern all.
	if _, err := pipe.Exec(ctx); err != nil && !isReply(err) {
		failures["connection"] = shown(err.Error())
	}
	for name, cmd := range asked {
		v, err := cmd.Result()
		switch {
		case err != nil:
			failures[name] = shown(err.Error())
		case name == "info":
			text, _ := v.(string)
			out[name] = fields(text)
		default:
			out[name] = plain(v)
		}
	}
	out["errors"] = failures
	return out
}

// isReply reports whether the broker itself answered with the error.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// fields reads INFO.
func fields(info string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok && !strings.HasPrefix(name, "#") {
			out[name] = shown(value)
		}
	}
	return out
}

// plain turns a reply into what JSON knows, with every string fit to be shown.
func plain(v any) any {
	switch v := v.(type) {
	case string:
		return shown(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[shown(fmt.Sprint(k))] = plain(e)
		}
		return out
	}
	return v
}

// shown returns s as it is when it is text, and quoted otherwise.
func shown(s string) string {
	if quoted := strconv.Quote(s); !strings.Contains(quoted, `\x`) && !strings.Contains(quoted, `\u`) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// tail sends the messages of a channel, at most maxTailRate a second, and
// tells how many there were besides. The broker drops what the browser does
// not take.
func (d *dashboard) tail(w http.ResponseWriter, r *http.Request, c *redis.Client) {
	name := r.URL.Query().Get("name")
	if len(name) > maxNameBytes {
		http.Error(w, "the name is too long", http.StatusBadRequest)
		return
	}
	tailClient := redis.NewClient(d.tailOptions(c.Options()))
	defer tailClient.Close()
	sub := tailClient.Subscribe(r.Context())
	defer sub.Close()
	ctx, cancel := context.WithTimeout(r.Context(), commandPeriod)
	defer cancel()
	if err := sub.Subscribe(ctx, name); err != nil {
		fail(w, err)
		return
	}
	if _, err := sub.Receive(ctx); err != nil {
		fail(w, err)
		return
	}
	s := newStream(w)
	if err := s.send("open", map[string]string{"channel": shown(name)}); err != nil {
		return
	}
	messages := sub.Channel(redis.WithChannelSize(64))
	tick := time.NewTicker(eventPeriod)
	defer tick.Stop()
	sent, skipped := 0, int64(0)
	for {
		var err error
		select {
		case m, ok := <-messages:
			if !ok {
				return
			}
			if sent++; sent > maxTailRate {
				skipped++
				continue
			}
			payload, cut := m.Payload, len(m.Payload) > maxTailShown
			if cut {
				payload = payload[:maxTailShown]
			}
			err = s.send("message", map[string]any{
				"time": time.Now().UnixMilli(), "payload": shown(payload), "bytes": len(m.Payload), "cut": cut,
			})
		case <-tick.C:
			// Also finds out that the browser is gone.
			err = s.send("skipped", skipped)
			sent, skipped = 0, 0
		case <-r.Context().Done():
			return
		case <-d.cfg.Stopping:
			return
		}
		if err != nil {
			return
		}
	}
}

// tailOptions returns options for a client with one connection, which may
// lose messages and is not replaced.
func (d *dashboard) tailOptions(o *redis.Options) *redis.Options {
	dialled := false
	return &redis.Options{
		Addr: o.Addr, Protocol: 3, Username: o.Username, Password: o.Password,
		DisableIdentity: true, MaintNotificationsConfig: quiet(), MaxRetries: -1, PoolSize: 1,
		DialTimeout: commandPeriod, ReadTimeout: commandPeriod, WriteTimeout: commandPeriod,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			if dialled {
				return nil, net.ErrClosed
			}
			dialled = true
			return d.cfg.Dial()
		},
		OnConnect: func(ctx context.Context, cn *redis.Conn) error {
			_ = cn.ClientSetName(ctx, "dashboard-tail").Err()
			// Without the right to do so the usual output limit holds.
			_ = cn.Do(ctx, "CLIENT", "SLOWPOLICY", "DROP-NEWEST", "LIMIT", tailLimit).Err()
			return nil
		},
	}
}
