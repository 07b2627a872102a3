package torture

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"broker/integration/harness"
	"broker/integration/reliability"
	"broker/internal/broker"
	"broker/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// alarm is a log in which no error may appear.
type alarm struct{ t *testing.T }

func (a alarm) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (a alarm) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(at slog.Attr) bool { text += " " + at.String(); return true })
	a.t.Errorf("the broker logs an error: %s", text)
	return nil
}
func (a alarm) WithAttrs([]slog.Attr) slog.Handler { return a }
func (a alarm) WithGroup(string) slog.Handler      { return a }

// A rack is the broker and what the tormentors share.
type rack struct {
	t         *testing.T
	plain     string
	secure    string
	client    *tls.Config
	cert, key string
	done      chan struct{}

	commands, killed, connected, messages atomic.Int64
}

const (
	victim   = "victim" // the user of everybody who may be hurt
	password = "pw"
)

// over reports whether the time is up.
func (k *rack) over() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// dial connects, every third time over TLS, and logs in as the victim unless
// admin is set. It returns nil when the broker turned the client away, which
// happens to victims.
func (k *rack) dial(r *rand.Rand, admin bool) *harness.Conn {
	var c *harness.Conn
	var err error
	if r.IntN(3) == 0 {
		c, err = harness.DialTLS(k.secure, 0, k.client)
	} else {
		c, err = harness.Dial(k.plain)
	}
	if err != nil {
		k.t.Errorf("dial: %v", err)
		return nil
	}
	k.connected.Add(1)
	if r.IntN(2) == 0 {
		if v, err := c.Do("HELLO", "3"); err != nil || v.Type != '%' {
			// A victim has no name yet by which anybody could find it.
			k.t.Errorf("HELLO: %v %v", v, err)
		}
	}
	if admin {
		return c
	}
	if v, err := c.Do("AUTH", victim, password); err != nil || v.Text != "OK" {
		// The user may be off or about to be made anew; the session may be killed.
		c.Close()
		return nil
	}
	return c
}

// run sends a few commands in one piece and reads until the last is answered
// or the connection ends; ok says whether it is still open.
func (k *rack) run(c *harness.Conn, commands [][]string) (ok bool) {
	var b []byte
	for _, words := range commands {
		b = harness.AppendCommand(b, words...)
	}
	marker := "marker-" + strconv.FormatInt(k.commands.Add(int64(len(commands))), 10)
	b = harness.AppendCommand(b, "PING", marker)
	sent := c.Send(b)
	for {
		v, err := c.Next()
		if err != nil {
			return false
		}
		if v.Text == marker || len(v.Elems) == 2 && v.Elems[1].Text == marker {
			return sent == nil
		}
		if v.Type == '-' && strings.HasPrefix(v.Text, "NOPERM") && strings.Contains(v.Text, "'ping'") {
			return true
		}
		if strings.HasPrefix(v.Text, "ERR Protocol error") {
			k.t.Errorf("told %v", v)
			return false
		}
		if _, _, isMessage := v.Message(); isMessage {
			k.messages.Add(1)
		}
	}
}

// names are what victims subscribe and publish to.
func name(r *rand.Rand) string { return string("abcd"[r.IntN(4)]) + strconv.Itoa(r.IntN(20)) }

// suffer is a victim: it subscribes, publishes, and comes again when it was
// thrown out.
func (k *rack) suffer(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for !k.over() {
		c := k.dial(r, false)
		if c == nil {
			continue
		}
		for alive, n := true, 0; alive && n < 200 && !k.over(); n++ {
			var commands [][]string
			for range 1 + r.IntN(6) {
				switch r.IntN(16) {
				case 0, 1:
					commands = append(commands, []string{"SUBSCRIBE", name(r), name(r)})
				case 2:
					commands = append(commands, []string{"PSUBSCRIBE", name(r)[:1] + "*"})
				case 3:
					commands = append(commands, []string{"SSUBSCRIBE", name(r)})
				case 4, 5:
					commands = append(commands, []string{"UNSUBSCRIBE", name(r)})
				case 6:
					commands = append(commands, []string{[]string{"UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"}[r.IntN(3)]})
				case 7:
					commands = append(commands, []string{"SPUBLISH", name(r), strings.Repeat("s", r.IntN(300))})
				case 8:
					commands = append(commands, []string{"MULTI"}, []string{"PUBLISH", name(r), "m"}, []string{"EXEC"})
				case 9:
					commands = append(commands, []string{"CLIENT", "SETNAME", name(r)})
				default:
					size := r.IntN(200)
					if r.IntN(20) == 0 {
						size = r.IntN(40_000)
					}
					commands = append(commands, []string{"PUBLISH", name(r), strings.Repeat("p", size)})
				}
			}
			alive = k.run(c, commands)
		}
		switch r.IntN(3) {
		case 0:
			k.run(c, [][]string{{"QUIT"}})
		case 1:
			c.Abort()
		}
		c.Close()
	}
}

// mute is a victim that stops reading, until it is closed for that or killed.
func (k *rack) mute(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	for !k.over() {
		c := k.dial(r, false)
		if c == nil {
			continue
		}
		alive := k.run(c, [][]string{{"PSUBSCRIBE", "*"}})
		for n := 0; alive && n < 50 && !k.over(); n++ {
			// Asks, and leaves the answers where they are.
			alive = c.SendBy(harness.AppendCommand(nil, "PING", strings.Repeat("x", r.IntN(5_000))), time.Now().Add(10*time.Millisecond)) == nil
		}
		c.Abort()
	}
}

// torment gives one administrator's commands over and over.
func (k *rack) torment(seed uint64, commands func(r *rand.Rand) [][]string) {
	r := rand.New(rand.NewPCG(seed, 3))
	c := k.dial(r, true)
	if c == nil {
		return
	}
	defer c.Close()
	for !k.over() {
		for _, words := range commands(r) {
			k.commands.Add(1)
			v, err := c.Do(words...)
			if err != nil {
				k.t.Errorf("%q: %v", words, err)
				return
			}
			// The user may just be away; see the one who gives rights.
			if v.Type == '-' && v.Text != "ERR No such user '"+victim+"'" {
				k.t.Errorf("%q was answered %v", words, v)
				return
			}
			if words[0] == "CLIENT" && words[1] == "KILL" {
				n, _ := v.Int()
				k.killed.Add(n)
			}
		}
	}
}

// tormentors are what administrators do, each on a connection of its own.
var tormentors = []func(k *rack) func(r *rand.Rand) [][]string{
	func(*rack) func(r *rand.Rand) [][]string { // kills
		return func(r *rand.Rand) [][]string {
			kill := []string{"CLIENT", "KILL", "USER", victim}
			switch r.IntN(3) {
			case 0:
				kill = append(kill, "TYPE", []string{"pubsub", "normal"}[r.IntN(2)])
			case 1:
				kill = append(kill, "MAXAGE", "1")
			default:
				kill = append(kill, "SKIPME", "yes")
			}
			all := [][]string{kill}
			for range 5 {
				all = append(all, []string{"CLIENT", "LIST"})
			}
			return all
		}
	},
	func(*rack) func(r *rand.Rand) [][]string { // rights
		return func(r *rand.Rand) [][]string {
			rules := []string{"ACL", "SETUSER", victim}
			switch r.IntN(6) {
			case 0:
				rules = append(rules, "resetchannels", "&"+name(r)[:1]+"*", "&b1")
			case 1:
				rules = append(rules, "allchannels")
			case 2:
				rules = append(rules, "-publish")
			case 3:
				rules = append(rules, "+@all")
			case 4:
				// Seldom: who then fails to log in is made to wait, and so are all
				// who come from the same address.
				if r.IntN(16) == 0 {
					return [][]string{{"ACL", "DELUSER", victim}, userRules}
				}
			case 5:
				rules = append(rules, "off", "on", "resetpass", ">"+password)
			}
			return [][]string{rules, {"ACL", "LIST"}, {"ACL", "LOG", "3"}, {"ACL", "GETUSER", victim}, userRules}
		}
	},
	func(k *rack) func(r *rand.Rand) [][]string { // settings and certificates
		return func(r *rand.Rand) [][]string {
			return [][]string{
				{"CONFIG", "SET", "tls-cert-file", k.cert, "tls-key-file", k.key},
				{"CONFIG", "SET", "client-output-buffer-limit", "pubsub " + strconv.Itoa(r.IntN(4)<<18) + " 0 0"},
				{"CONFIG", "SET", "maxmemory-clients", strconv.Itoa(r.IntN(3) * (64 << 20))},
				{"CONFIG", "SET", "timeout", strconv.Itoa(r.IntN(2) * 100)},
				{"CONFIG", "SET", "slowlog-log-slower-than", strconv.Itoa(r.IntN(2) * 1000)},
			}
		}
	},
	func(*rack) func(r *rand.Rand) [][]string { // views
		return func(r *rand.Rand) [][]string {
			return [][]string{
				{"INFO", "everything"}, {"PUBSUB", "CHANNELS"}, {"PUBSUB", "NUMSUB", name(r)}, {"PUBSUB", "SHARDCHANNELS"},
				{"PUBSUB", "NUMPAT"}, {"CLIENT", "LIST"}, {"SLOWLOG", "GET"}, {"MEMORY", "STATS"}, {"COMMAND", "COUNT"},
				{"PUBSUB", "SLOW"}, {"PUBSUB", "STATS", name(r)}, {"PUBSUB", "SUBSCRIBERS", name(r)},
			}
		}
	},
}

var userRules = []string{"ACL", "SETUSER", victim, "on", ">" + password, "allchannels", "allkeys", "+@all", "-@dangerous"}

// witness publishes numbered messages to itself by way of two connections.
func (k *rack) witness(seed uint64) int {
	r := rand.New(rand.NewPCG(seed, 4))
	s, p := k.dial(r, true), k.dial(r, true)
	if s == nil || p == nil {
		return 0
	}
	defer s.Close()
	defer p.Close()
	channel := "witness " + strconv.FormatUint(seed, 10)
	if _, err := s.Do("SUBSCRIBE", channel); err != nil {
		k.t.Error(err)
		return 0
	}
	n := 0
	for ; !k.over(); n++ {
		payload := strconv.Itoa(n)
		if v, err := p.Do("PUBLISH", channel, payload); err != nil {
			k.t.Errorf("witness: message %d: %v", n, err)
			return n
		} else if got, _ := v.Int(); got < 1 {
			// A victim's pattern may have counted, too.
			k.t.Errorf("witness: message %d reached %v", n, v)
			return n
		}
		if v, err := s.Next(); err != nil || len(v.Elems) != 3 || v.Elems[2].Text != payload {
			k.t.Errorf("witness: message %d: %v %v", n, v, err)
			return n
		}
	}
	return n
}

func TestTorture(t *testing.T) {
	period := reliability.Period(t, "TORTURE", 2*time.Second, time.Minute)
	var commands, connected, killed, messages, exchanged int64
	variants := harness.Variants(2)
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			k, n := torture(t, v, period/time.Duration(len(variants)))
			commands, connected, killed = commands+k.commands.Load(), connected+k.connected.Load(), killed+k.killed.Load()
			messages, exchanged = messages+k.messages.Load(), exchanged+n
		})
	}
	reliability.Note(t, "torture", "%.0f s, both drivers: %d commands, %d connections, %d killed, %d messages, %d between witnesses; 0 lost, 0 races, 0 panics, nothing left",
		period.Seconds(), commands, connected, killed, messages, exchanged)
}

// torture runs one variant and returns the rack with its counts, and how many
// messages the witnesses exchanged.
func torture(t *testing.T, v harness.Variant, period time.Duration) (*rack, int64) {
	k := &rack{t: t, done: make(chan struct{})}
	k.cert, k.key, k.client = harness.Certificate(t)
	cfg, err := config.Load([]string{
		"--bind", "127.0.0.1", "--shards", strconv.Itoa(v.Shards), "--io", v.IO,
		"--tls-cert-file", k.cert, "--tls-key-file", k.key, "--tls-auth-clients", "no",
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Port, cfg.TLSPort = config.AnyPort, config.AnyPort
	b, err := broker.Start(cfg, slog.New(alarm{t}))
	if err != nil {
		t.Fatal(err)
	}
	k.plain, k.secure = b.Addrs()[0].String(), b.Addrs()[1].String()
	observer, err := harness.Dial(k.plain)
	if err != nil {
		t.Fatal(err)
	}
	defer observer.Close()
	if v, err := observer.Do(userRules...); err != nil || v.Text != "OK" {
		t.Fatal(v, err)
	}

	var all sync.WaitGroup
	var exchanged atomic.Int64
	for i := range uint64(6) {
		all.Go(func() { k.suffer(i) })
	}
	all.Go(func() { k.mute(0) })
	for i, what := range tormentors {
		all.Go(func() { k.torment(uint64(i), what(k)) })
	}
	for i := range uint64(2) {
		all.Go(func() { exchanged.Add(int64(k.witness(i))) })
	}
	timer := time.NewTimer(period)
	<-timer.C
	close(k.done)
	all.Wait()

	if k.killed.Load() == 0 || exchanged.Load() == 0 || k.messages.Load() == 0 {
		t.Errorf("%d killed, %d messages, %d of witnesses: nothing was tested", k.killed.Load(), k.messages.Load(), exchanged.Load())
	}
	k.nothingLeft(observer)
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	observer.Close()
	if err := b.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	return k, exchanged.Load()
}

// nothingLeft waits until the observer is alone and looks at what the others
// have left behind.
func (k *rack) nothingLeft(observer *harness.Conn) {
	ask := func(words ...string) harness.Value {
		v, err := observer.Do(words...)
		if err != nil {
			k.t.Fatalf("%q: %v", words, err)
		}
		return v
	}
	for end := time.Now().Add(harness.Patience); ; {
		list := ask("CLIENT", "LIST").Text
		if strings.Count(list, "\n") == 1 {
			break
		}
		if time.Now().After(end) {
			k.t.Errorf("sessions are left:\n%s", list)
			break
		}
	}
	for _, words := range [][]string{{"PUBSUB", "CHANNELS"}, {"PUBSUB", "SHARDCHANNELS"}, {"PUBSUB", "NUMPAT"}} {
		if v := ask(words...); len(v.Elems) > 0 || v.Type == ':' && v.Text != "0" {
			k.t.Errorf("%q: %v", words, v)
		}
	}
	if text := ask("INFO", "everything").Text; !strings.Contains(text, "broker_session_panics:0") {
		k.t.Error(fmt.Errorf("INFO tells of panics: %s", text))
	}
}
