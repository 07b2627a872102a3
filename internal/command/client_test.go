package command

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clientFields are the fields of a line in redis 8.0's order.
var clientFields = strings.Fields(`id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free
	argv-mem multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver io-thread`)

// parseClients returns the lines of a client list as maps.
func parseClients(t *testing.T, list string) []map[string]string {
	t.Helper()
	var out []map[string]string
	for line := range strings.Lines(list) {
		var names []string
		m := map[string]string{}
		for _, field := range strings.Split(strings.TrimSuffix(line, "\n"), " ") {
			name, v, _ := strings.Cut(field, "=")
			names = append(names, name)
			m[name] = v
		}
		if !slices.Equal(names, clientFields) {
			t.Errorf("fields %v", names)
		}
		out = append(out, m)
	}
	return out
}

func ids(clients []map[string]string) string {
	var list []string
	for _, c := range clients {
		list = append(list, c["id"])
	}
	return strings.Join(list, " ")
}

func TestClientList_CoversAllShardsInOrderOfID(t *testing.T) {
	srv := startServer(t, 3)
	var clients []*client
	for i := range 7 {
		clients = append(clients, srv.dial())
		clients[i].do("CLIENT", "SETNAME", "n"+strconv.Itoa(i+1))
	}
	clients[2].do("SUBSCRIBE", "a", "b")
	clients[2].read()
	clients[2].do("PSUBSCRIBE", "p")
	clients[5].do("HELLO", "3")
	clients[5].do("SSUBSCRIBE", "s")
	c := clients[6]
	c.do("SELECT", "4")
	list := func(args ...string) []map[string]string {
		return parseClients(t, text(t, c.do(append([]string{"CLIENT", "LIST"}, args...)...)))
	}

	all := list()
	if got := ids(all); got != "1 2 3 4 5 6 7" {
		t.Fatalf("ids %s", got)
	}
	shards := map[string]bool{}
	for i, line := range all {
		shards[line["io-thread"]] = true
		if line["name"] != "n"+strconv.Itoa(i+1) || line["user"] != "default" {
			t.Errorf("line %d: %v", i, line)
		}
	}
	if len(shards) != 3 {
		t.Errorf("shards %v", shards)
	}
	for i, want := range map[int]string{
		0: "N 0 0 0 0 client|setname 2",
		2: "P 0 2 1 0 psubscribe 2",
		5: "P 0 0 0 1 ssubscribe 3",
		6: "N 4 0 0 0 client|list 2",
	} {
		l := all[i]
		got := fmt.Sprint(l["flags"], " ", l["db"], " ", l["sub"], " ", l["psub"], " ", l["ssub"], " ", l["cmd"], " ", l["resp"])
		if got != want {
			t.Errorf("line %d: %s, want %s", i, got, want)
		}
	}

	for _, tt := range []struct{ args, want string }{
		{"TYPE pubsub", "3 6"},
		{"type NORMAL", "1 2 4 5 7"},
		{"TYPE replica", ""},
		{"TYPE slave", ""},
		{"TYPE master", ""},
		{"ID 6 2 99 6 0 -1 4", "6 2 4"},
		{"id 7", "7"},
	} {
		if got := ids(list(strings.Fields(tt.args)...)); got != tt.want {
			t.Errorf("CLIENT LIST %s: %q, want %q", tt.args, got, tt.want)
		}
	}
	if got := clients[5].do("CLIENT", "LIST", "ID", "77"); got != "=4\r\ntxt:\r\n" {
		t.Errorf("empty list in RESP3: %q", got)
	}
}

func TestClientList_UnknownCommandIsNull(t *testing.T) {
	srv := startServer(t, 2)
	a, b := srv.dial(), srv.dial()
	b.do("PING")
	a.do("NOPE")
	if l := parseClients(t, text(t, b.do("CLIENT", "LIST"))); l[0]["cmd"] != "NULL" {
		t.Errorf("cmd=%s, want NULL", l[0]["cmd"])
	}
	a.do("SELECT", "x") // refused commands count as well
	if l := parseClients(t, text(t, b.do("CLIENT", "LIST"))); l[0]["cmd"] != "select" {
		t.Errorf("cmd=%s, want select", l[0]["cmd"])
	}
}

func TestClientInfo_IsTheOwnLine(t *testing.T) {
	srv := startServer(t, 2)
	srv.dial().do("PING")
	c := srv.dial()
	c.do("HELLO", "3", "SETNAME", "me")
	c.do("CLIENT", "SETINFO", "LIB-NAME", "go-redis(,go1.26)")
	raw := c.do("CLIENT", "INFO")
	if !regexp.MustCompile(`^=\d+\r\ntxt:id=2 [^\n]*\n\r\n$`).MatchString(raw) {
		t.Errorf("got %q", raw)
	}
	l := parseClients(t, text(t, raw))[0]
	if l["name"] != "me" || l["lib-name"] != "go-redis(,go1.26)" || l["cmd"] != "client|info" || l["resp"] != "3" {
		t.Errorf("got %v", l)
	}
	c.do("CLIENT", "SETINFO", "LIB-NAME", "")
	if l := parseClients(t, text(t, c.do("CLIENT", "INFO")))[0]; l["lib-name"] != "" {
		t.Errorf("lib-name=%s after it was cleared", l["lib-name"])
	}
}
