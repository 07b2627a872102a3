package acl

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// update makes the golden test ask the redis-server that is installed.
var update = flag.Bool("update", false, "rewrite testdata from redis-server")

const (
	goldenCommands = "testdata/commands.redis-7.0.15.json"
	goldenRules    = "testdata/rules.redis-7.0.15.json"
)

// A goldenCommand is what redis-server says about one of its commands.
type goldenCommand struct {
	Name       string
	Arity      int
	NoAuth     bool     `json:",omitempty"`
	Container  bool     `json:",omitempty"`
	Categories []string // without "@"
}

// A goldenCase is what redis-server answered to ACL SETUSER calls about one new
// user, and what came of it.
type goldenCase struct {
	Calls   [][]string // rules of each call
	Answers []string   // without "OK" or "ERR "
	List    string     // the rules in ACL LIST
	Denied  string     // a '1' for each command that DRYRUN refused, in the order of goldenCommands, as hexadecimal digits
	Dry     []goldenDry
}

// A goldenDry is ACL DRYRUN of one request.
type goldenDry struct {
	Request []string
	Reason  string // "", "command" or "channel"
	Object  string // the channel
}

// ruleCalls are what the golden cases are made of.
var ruleCalls = [][][]string{
	{{}},
	{{"on"}}, {{"ON", "nopass"}}, {{"off", "on", "off"}},
	{{"on", ">secret"}}, {{">a", ">b", ">a"}}, {{">a", "nopass"}}, {{"nopass", ">a"}}, {{">a", "resetpass"}},
	{{">a"}, {"<a"}}, {{">a"}, {"<b"}}, {{"<a"}}, {{"nopass", "resetpass"}},
	{{"#5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"}},
	{{"#5E884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"}}, {{"#12"}}, {{"#"}}, {{"!12"}},
	{{">password"}, {"!5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"}},
	{{"!5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"}},
	{{">"}}, {{"skip-sanitize-payload"}}, {{"skip-sanitize-payload", "sanitize-payload"}},
	{{"+get"}}, {{"+GET", "-get", "+set"}}, {{"+config"}}, {{"+config|get"}}, {{"+config", "-config|set"}},
	{{"+config|get", "+config"}}, {{"+config|get", "-config"}}, {{"-config|get"}}, {{"+config", "+config|get"}},
	{{"+@all"}}, {{"allcommands"}}, {{"+@all", "-@all"}}, {{"nocommands", "+get"}}, {{"+@all", "-get"}},
	{{"+@all", "-get", "+get"}}, {{"+@all", "-config|set"}}, {{"+@all", "-config", "+config|get"}},
	{{"+@pubsub"}}, {{"+@slow"}}, {{"+@fast", "-@connection"}}, {{"+@all", "-@dangerous"}}, {{"+@all", "-@all", "+ping"}},
	{{"+@ADMIN"}}, {{"+@read", "-@read", "+@read"}}, {{"+@read", "+get", "-@read", "+set", "+@read"}},
	{{"+@scripting", "-eval", "+@pubsub", "-pubsub|numsub"}}, {{"-@slow"}}, {{"+client|kill", "+@connection"}},
	{{"+@all", "-@connection", "+client|id"}}, {{"+command"}}, {{"+@all", "-command"}},
	{{"+foo"}}, {{"-foo"}}, {{"+@foo"}}, {{"-@foo"}}, {{"+"}}, {{"-"}}, {{"+@"}}, {{"+config|foo"}}, {{"-config|foo"}},
	{{"+config|"}}, {{"+get|"}}, {{"-get|foo"}}, {{"+foo|bar"}}, {{"+config|get|appendonly"}}, {{"+|x"}}, {{"+get|set|x"}},
	{{"+select|0"}}, {{"+select|0", "+select|1", "+select|0"}}, {{"+select|0", "+select"}}, {{"+select|0", "-select"}},
	{{"+select|0", "+@connection"}}, {{"+select|0", "-@connection"}}, {{"+select|0", "+@all"}},
	{{"~x*"}}, {{"~x*", "~y*", "~x*"}}, {{"allkeys"}}, {{"~*"}}, {{"~*", "~x"}}, {{"allkeys", "resetkeys", "~x"}},
	{{"~x", "resetkeys"}}, {{"~"}}, {{"~a b"}}, {{"%R~x"}}, {{"%W~x"}}, {{"%RW~x"}}, {{"%wr~x"}}, {{"%R~x", "%W~x"}},
	{{"%RR~x"}}, {{"%~x"}}, {{"%X~x"}}, {{"%R~x", "~x"}}, {{"%R~*"}}, {{"~*", "%R~x"}},
	{{"&x*"}}, {{"&x*", "&y*", "&x*"}}, {{"allchannels"}}, {{"&*"}}, {{"&*", "&x"}}, {{"allchannels", "resetchannels", "&x"}},
	{{"&x", "resetchannels"}}, {{"&"}}, {{"&a\tb"}}, {{"&x", "allchannels"}},
	{{"(+get ~x)"}}, {{"(", "+get", "~x", ")"}}, {{"(+get", "~x)", "+set"}}, {{"()"}}, {{"(+get)", "(+set)", "clearselectors"}},
	{{"(+get"}}, {{"+set", "(", "+get"}}, {{"(foo)"}}, {{"(+foo)"}}, {{"(on)"}}, {{"(>a)"}}, {{"((+get))"}}, {{"(+get) x"}},
	{{"(+@all -get &x allkeys)"}}, {{"(&* &x)"}}, {{"(~* ~x)"}}, {{"( +get   ~x )"}}, {{`(~"a" +get)`}},
	{{"+get"}, {"(+set)"}, {"-get", "(+mset &z)"}}, {{"clearselectors"}},
	{{"on", "nopass", "~*", "&*", "+@all", "(+get)"}, {"reset"}}, {{"reset", "on"}},
	{{"on", "foo", "~x"}}, {{""}}, {{"+get", ""}}, {{"foo"}}, {{" on"}}, {{"on "}}, {{"x"}}, {{"on", "+get"}, {"off", "+foo"}},
	{{"on", "nopass", "+publish", "&news.*", "(+subscribe +psubscribe &chat.*)"}},
	{{"+publish", "+psubscribe", "&a*", "(+publish &b*)", "(+subscribe &c)"}},
	{{"+@pubsub", "&a*", "&[xyz]?", `&q\*`}},
}

// dryRuns are asked about for every case with channel rules.
var dryRuns = [][]string{
	{"publish", "a", "m"}, {"publish", "news.1", "m"}, {"publish", "b", "m"}, {"publish", "c", "m"}, {"publish", "x", "m"},
	{"spublish", "a", "m"}, {"spublish", "xy", "m"}, {"publish", "q*", "m"}, {"publish", "qq", "m"},
	{"subscribe", "a", "ab", "b"}, {"subscribe", "c"}, {"subscribe", "chat.1", "chat.2"}, {"subscribe", "c", "a"},
	{"subscribe", "x1", "z2"}, {"ssubscribe", "a"}, {"psubscribe", "a*"}, {"psubscribe", "a"}, {"psubscribe", "chat.*", "a*"},
	{"psubscribe", "chat.1"}, {"psubscribe", "b*"}, {"psubscribe", `q\*`}, {"psubscribe", "*"}, {"psubscribe", "[xyz]?"},
	{"unsubscribe", "zz"}, {"punsubscribe", "zz"}, {"sunsubscribe", "zz"}, {"pubsub", "channels", "zz"},
}

func goldenStore(t testing.TB) (*Store, []goldenCommand) {
	t.Helper()
	var golden []goldenCommand
	readJSON(t, goldenCommands, &golden)
	commands := make([]Command, len(golden))
	for i, g := range golden {
		commands[i] = Command{Name: g.Name, Number: i, Categories: g.Categories, NoAuth: g.NoAuth}
	}
	return NewStore(Config{Commands: commands, LogLen: 128}), golden
}

// channelsOf says what the pubsub commands' channels are, for tests.
func channelsOf(name string, args int) Channels {
	switch name {
	case "publish", "spublish":
		return Channels{First: 1, End: 2}
	case "subscribe", "ssubscribe":
		return Channels{First: 1, End: args}
	case "psubscribe":
		return Channels{First: 1, End: args, Patterns: true}
	}
	return Channels{}
}

func bytesOf(words []string) [][]byte {
	out := make([][]byte, len(words))
	for i, w := range words {
		out[i] = []byte(w)
	}
	return out
}

// withoutCommands leaves away what 7.0.15 shows differently: which rules about
// commands gave what is allowed (it makes up others that come to the same;
// later versions keep them, see TestString_KeepsCommandRules), and
// sanitize-payload.
func withoutCommands(text string) string {
	var kept []string
	for _, word := range strings.Fields(text) {
		bare := strings.Trim(word, "()")
		switch {
		case bare == "sanitize-payload":
			continue
		case bare[0] == '+' || bare[0] == '-':
			word = strings.Repeat("(", strings.Count(word, "(")) + strings.Repeat(")", strings.Count(word, ")"))
		}
		kept = append(kept, word)
	}
	return strings.Join(strings.Fields(strings.Join(kept, " ")), " ")
}

func parseBits(t *testing.T, digits string) *big.Int {
	t.Helper()
	bits, ok := new(big.Int).SetString(digits, 16)
	if !ok {
		t.Fatalf("bits %q", digits)
	}
	return bits
}

func TestSetUser_EqualsRedis(t *testing.T) {
	if *update {
		recordGolden(t)
	}
	var cases []goldenCase
	readJSON(t, goldenRules, &cases)
	if len(cases) != len(ruleCalls) {
		t.Fatalf("%d golden cases for %d; run with -update", len(cases), len(ruleCalls))
	}
	for i, want := range cases {
		name := fmt.Sprintf("%q", want.Calls)
		t.Run(name, func(t *testing.T) {
			if fmt.Sprint(want.Calls) != fmt.Sprint(ruleCalls[i]) {
				t.Fatal("not the golden case; run with -update")
			}
			s, commands := goldenStore(t)
			for j, rules := range want.Calls {
				answer := ""
				if _, err := s.SetUser("u", rules); err != nil {
					answer = err.Error()
				}
				if answer != want.Answers[j] {
					t.Errorf("%q:\n got %q\nwant %q", rules, answer, want.Answers[j])
				}
			}
			u := s.Lookup("u")
			if u == nil {
				if want.List != "" {
					t.Fatalf("no user; want %q", want.List)
				}
				return
			}
			if got, want := withoutCommands(u.Rules().String()), withoutCommands(want.List); got != want {
				t.Errorf("rules but for the commands:\n got %q\nwant %q", got, want)
			}
			wantDenied := parseBits(t, want.Denied)
			if _, err := s.SetUser("theirs", strings.Split(want.List, " ")); err != nil {
				t.Errorf("Redis's own description: %v", err)
			}
			for _, u := range []*User{u, s.Lookup("theirs")} {
				for number, c := range commands {
					denied := !c.Container && u.Rules().Check(number, bytesOf(c.words()), Channels{}).Reason != Allowed
					if want := wantDenied.Bit(number) != 0; denied != want {
						t.Errorf("%s of %s denied: %v, want %v", c.Name, u.Name(), denied, want)
					}
				}
			}
			for _, dry := range want.Dry {
				reason, object := dryRun(s, u, dry.Request)
				if reason != dry.Reason || object != dry.Object {
					t.Errorf("%q: %q %q, want %q %q", dry.Request, reason, object, dry.Reason, dry.Object)
				}
			}
		})
	}
}

func dryRun(s *Store, u *User, request []string) (reason, object string) {
	name := request[0]
	if _, isCommand := s.catalogue.byName[name]; isCommand && len(s.catalogue.subs[name]) > 0 {
		name += "|" + request[1]
	}
	d := u.Rules().Check(s.catalogue.byName[name], bytesOf(request), channelsOf(name, len(request)))
	if d.Reason == DeniedChannel {
		object = request[d.Arg]
	}
	return d.Reason.String(), object
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writeJSON writes a list with one element per line.
func writeJSON[T any](t *testing.T, path string, list []T) {
	t.Helper()
	var b strings.Builder
	for i, v := range list {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString([]string{"[", ","}[min(i, 1)] + string(line) + "\n")
	}
	b.WriteString("]\n")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recordGolden asks a redis-server.
func recordGolden(t *testing.T) {
	r := startRedis(t)
	var commands []goldenCommand
	var walk func(list []any)
	walk = func(list []any) {
		for _, v := range list {
			c := v.([]any)
			g := goldenCommand{Name: c[0].(string), Arity: int(c[1].(int64)), Categories: []string{}}
			for _, flag := range c[2].([]any) {
				g.NoAuth = g.NoAuth || flag == "no_auth"
			}
			for _, category := range c[6].([]any) {
				g.Categories = append(g.Categories, strings.TrimPrefix(category.(string), "@"))
			}
			slices.Sort(g.Categories)
			subs := c[9].([]any)
			g.Container = len(subs) > 0 && g.Arity == -2
			commands = append(commands, g)
			walk(subs)
		}
	}
	walk(r.do("COMMAND").([]any))
	slices.SortFunc(commands, func(a, b goldenCommand) int { return strings.Compare(a.Name, b.Name) })
	writeJSON(t, goldenCommands, commands)

	var cases []goldenCase
	for _, calls := range ruleCalls {
		g := goldenCase{Calls: calls}
		r.do("ACL", "DELUSER", "u")
		for _, rules := range calls {
			answer := ""
			if err, failed := r.do(append([]string{"ACL", "SETUSER", "u"}, rules...)...).(error); failed {
				answer = strings.TrimPrefix(err.Error(), "ERR ")
			}
			g.Answers = append(g.Answers, answer)
		}
		for _, line := range r.do("ACL", "LIST").([]any) {
			if rules, ok := strings.CutPrefix(line.(string), "user u "); ok {
				g.List = rules
			}
		}
		if g.List != "" {
			denied := new(big.Int)
			for number, c := range commands {
				if !c.Container && r.dryRun(t, c.words()).Reason == "command" {
					denied.SetBit(denied, number, 1)
				}
			}
			g.Denied = denied.Text(16)
			if strings.Contains(g.List, "&") {
				for _, request := range dryRuns {
					g.Dry = append(g.Dry, r.dryRun(t, request))
				}
			}
		}
		cases = append(cases, g)
	}
	writeJSON(t, goldenRules, cases)
}

// words returns a request with as many arguments as the command needs.
func (c goldenCommand) words() []string {
	words := strings.Split(c.Name, "|")
	for len(words) < max(c.Arity, -c.Arity) {
		words = append(words, "1")
	}
	return words
}

// redis is a connection to a redis-server.
type redis struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func startRedis(t *testing.T) *redis {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for start := time.Now(); ; {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return &redis{t, conn, bufio.NewReader(conn)}
		}
		if time.Since(start) > 10*time.Second {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// dryRun reports what the user u is refused of a request.
func (r *redis) dryRun(t *testing.T, request []string) goldenDry {
	g := goldenDry{Request: request}
	switch answer := r.do(append([]string{"ACL", "DRYRUN", "u"}, request...)...).(type) {
	case error:
		t.Fatalf("DRYRUN %q: %v", request, answer)
	case string:
		quoted := strings.SplitN(answer, "'", 3)
		switch {
		case strings.Contains(answer, "no permissions to run"):
			g.Reason = "command"
		case strings.HasSuffix(answer, " channel"):
			g.Reason, g.Object = "channel", quoted[1]
		case answer != "OK" && !strings.HasSuffix(answer, " key"):
			t.Fatalf("DRYRUN %q: %q", request, answer)
		}
	}
	return g
}

func (r *redis) do(words ...string) any {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := io.WriteString(r.conn, b.String()); err != nil {
		r.t.Fatal(err)
	}
	return r.read()
}

func (r *redis) read() any {
	line, err := r.r.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	kind, text := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '+':
		return text
	case '-':
		return errors.New(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	switch {
	case kind == ':':
		return n
	case n < 0:
		return nil
	case kind == '$':
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r.r, b); err != nil {
			r.t.Fatal(err)
		}
		return string(b[:n])
	}
	list := make([]any, n)
	for i := range list {
		list[i] = r.read()
	}
	return list
}
