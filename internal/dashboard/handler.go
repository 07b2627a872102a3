package dashboard

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed static
var files embed.FS

// Config is what the page needs. It does not change.
type Config struct {
	// Dial opens a connection to the broker that stays inside the process.
	Dial func() (net.Conn, error)

	// Stopping is closed when the broker shuts down.
	Stopping <-chan struct{}
}

// Limits.
const (
	maxBodyBytes  = 1 << 20         // of a request
	writeTimeout  = 5 * time.Second // for one event of a stream
	eventPeriod   = time.Second
	maxTailRate   = 20       // messages a second that a tail shows
	maxTailShown  = 2 << 10  // bytes of a payload that a tail shows
	tailLimit     = "262144" // bytes that may be undelivered to a tail
	maxNameBytes  = 4 << 10
	commandPeriod = 5 * time.Second // for the answer to one command
)

const security = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// New returns the handler, for the paths below prefix, which begins and ends
// with a slash.
func New(prefix string, cfg Config) http.Handler {
	d := &dashboard{cfg: cfg}
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic(err) // the name is a constant
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+prefix, http.StripPrefix(strings.TrimSuffix(prefix, "/"), http.FileServerFS(static)))
	mux.HandleFunc("GET "+prefix+"events", d.withClient(d.events))
	mux.HandleFunc("GET "+prefix+"tail", d.withClient(d.tail))
	mux.HandleFunc("GET "+prefix+"channel", d.withClient(d.channel))
	mux.HandleFunc("POST "+prefix+"publish", d.withClient(d.publish))
	mux.HandleFunc("POST "+prefix+"kill", d.withClient(d.kill))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", security)
		w.Header().Set("Referrer-Policy", "no-referrer")
		if !knownHost(r) {
			http.Error(w, "ask by address, or log in", http.StatusMisdirectedRequest)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// knownHost keeps pages elsewhere from reaching the broker by a name of theirs
// that leads here: without a password the name must be an address or
// localhost.
func knownHost(r *http.Request) bool {
	if _, _, ok := r.BasicAuth(); ok {
		return true
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost"
}

type dashboard struct{ cfg Config }

// withClient gives a handler a connection on which the browser's user is
// logged in.
func (d *dashboard) withClient(serve func(http.ResponseWriter, *http.Request, *redis.Client)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// A form of another site cannot set a header of its own.
		if r.Method == http.MethodPost && r.Header.Get("X-Broker") == "" {
			http.Error(w, "the X-Broker header is missing", http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		client := d.client(r)
		defer client.Close()
		if err := client.Ping(r.Context()).Err(); err != nil {
			if isAuthError(err) {
				w.Header().Set("WWW-Authenticate", `Basic realm="broker", charset="UTF-8"`)
				http.Error(w, "a user and a password of the broker are needed", http.StatusUnauthorized)
				return
			}
			if !isReply(err) {
				http.Error(w, "the broker does not answer", http.StatusServiceUnavailable)
				return
			}
			// The user may not PING; what he may do, each command tells.
		}
		serve(w, r, client)
	}
}

func isAuthError(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "NOAUTH") || strings.HasPrefix(text, "WRONGPASS")
}

// fail answers with the broker's own error.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	switch text := err.Error(); {
	case strings.HasPrefix(text, "NOPERM"):
		status = http.StatusForbidden
	case isReply(err):
		status = http.StatusBadRequest
	}
	http.Error(w, shown(err.Error()), status)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// publish sends a message.
func (d *dashboard) publish(w http.ResponseWriter, r *http.Request, c *redis.Client) {
	var in struct{ Channel, Payload string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, "not JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	n, err := c.Publish(r.Context(), in.Channel, in.Payload).Result()
	if err != nil {
		fail(w, err)
		return
	}
	reply(w, map[string]int64{"receivers": n})
}

// kill closes a session.
func (d *dashboard) kill(w http.ResponseWriter, r *http.Request, c *redis.Client) {
	var in struct{ ID int64 }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, "not JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	n, err := c.Do(r.Context(), "CLIENT", "KILL", "ID", in.ID).Int64()
	if err != nil {
		fail(w, err)
		return
	}
	reply(w, map[string]int64{"closed": n})
}

// channel describes one channel.
func (d *dashboard) channel(w http.ResponseWriter, r *http.Request, c *redis.Client) {
	name := r.URL.Query().Get("name")
	if len(name) > maxNameBytes {
		http.Error(w, "the name is too long", http.StatusBadRequest)
		return
	}
	out := map[string]any{}
	for key, args := range map[string][]any{
		"stats":       {"PUBSUB", "STATS", name},
		"subscribers": {"PUBSUB", "SUBSCRIBERS", name, "COUNT", 200},
	} {
		v, err := c.Do(r.Context(), args...).Result()
		if err != nil {
			out[key+"Error"] = shown(err.Error())
			continue
		}
		out[key] = plain(v)
	}
	reply(w, out)
}
