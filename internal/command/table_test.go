package command

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTable_RowsAreComplete(t *testing.T) {
	version := regexp.MustCompile(`^[1-9]\.\d+\.\d+$`)
	for i, c := range newTable().rows {
		t.Run(c.fullName, func(t *testing.T) {
			if c.number != i {
				t.Errorf("number %d at position %d", c.number, i)
			}
			for name, s := range map[string]string{"group": c.group, "complexity": c.complexity, "summary": c.summary} {
				if s == "" {
					t.Errorf("no %s", name)
				}
			}
			if !version.MatchString(c.since) {
				t.Errorf("since %q is no version", c.since)
			}
			if groupTitles[c.group] == "" {
				t.Errorf("group %q has no title", c.group)
			}
			if !strings.HasSuffix(c.summary, ".") {
				t.Errorf("summary %q is no sentence", c.summary)
			}
			if c.parent != nil && (len(c.help) < 2 || !strings.HasPrefix(c.help[0], strings.ToUpper(c.name))) {
				t.Errorf("help %q does not begin with the name", c.help)
			}
			if c.flags.implied()&c.categories != 0 {
				t.Errorf("categories repeat what the flags imply")
			}
		})
	}
}

// TestTable_ArityFitsArguments computes what the documented arguments allow
// and compares it with the arity that is checked. Where optional arguments have
// an end the arity cannot tell, so the handler must refuse one more.
func TestTable_ArityFitsArguments(t *testing.T) {
	// QUIT takes arguments for the sake of old clients, LOLWUT whatever else a
	// version may take. The arity of COMMAND GETKEYS excludes commands without
	// arguments. CLIENT KILL has a form with one word and one with pairs.
	exempt := map[string]bool{
		"quit": true, "lolwut": true, "client|kill": true,
		"command|getkeys": true, "command|getkeysandflags": true,
	}
	c := startServer(t, 1).dial()
	for _, row := range newTable().rows {
		if exempt[row.fullName] || row.run == nil || len(row.subs) > 0 {
			continue
		}
		words := 1 + strings.Count(row.fullName, "|")
		least, most := countArgs(row.args)
		want := words + least
		if most != least {
			want = -want
		}
		if row.arity != want {
			t.Errorf("%s: arity %d, the arguments say %d", row.fullName, row.arity, want)
		}
		if most > least {
			request := append(strings.Split(row.fullName, "|"), slices.Repeat([]string{"0"}, most+1)...)
			if got := c.do(request...); got[0] != '-' {
				t.Errorf("%q: %q", request, got)
			}
		}
	}
}

// countArgs returns the least and the greatest number of words; most is -1
// without a bound.
func countArgs(args []arg) (least, most int) {
	for i := range args {
		a := &args[i]
		lo, hi := 1, 1
		switch a.kind {
		case kindBlock:
			lo, hi = countArgs(a.args)
		case kindOneOf:
			lo, hi = countArgs(a.args[:1])
		case kindToken:
			lo, hi = 0, 0
		}
		if a.token != "" {
			lo, hi = lo+1, hi+1
		}
		if a.optional {
			lo = 0
		}
		if a.multiple {
			hi = -1
		}
		least += lo
		if most < 0 || hi < 0 {
			most = -1
		} else {
			most += hi
		}
	}
	return least, most
}

func TestTable_SubscriberModeAllowsExactlyRedissList(t *testing.T) {
	want := "subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe ping reset quit"
	var got []string
	for _, c := range newTable().rows {
		if c.inSubscriberMode {
			got = append(got, c.fullName)
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("allowed: %v, want %s", got, want)
	}
}

func TestTable_RefusesContradictions(t *testing.T) {
	run := func(*call) {}
	row := func(name string, arity int) *command {
		return &command{name: name, arity: arity, run: run}
	}
	for name, rows := range map[string][]*command{
		"twice":                  {row("a", 1), row("a", 1)},
		"subcommand twice":       {{name: "a", arity: -2, subs: []*command{row("b", 2), row("b", 2)}}},
		"upper case":             {row("A", 1)},
		"no name":                {row("", 1)},
		"name too long":          {row(strings.Repeat("a", maxNameBytes+1), 1)},
		"no arity":               {row("a", 0)},
		"no handler":             {{name: "a", arity: 1}},
		"container with a run":   {{name: "a", arity: -2, run: run, subs: []*command{row("b", 2)}}},
		"bare container, no run": {{name: "a", arity: -1, subs: []*command{row("b", 2)}}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			tab := &table{index: map[string]*command{}}
			for _, c := range rows {
				tab.add(c)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	tab := newTable()
	for _, c := range tab.rows {
		for _, name := range []string{c.fullName, strings.ToUpper(c.fullName), strings.ToUpper(c.fullName[:1]) + c.fullName[1:]} {
			if tab.byFullName(name) != c {
				t.Errorf("%q not found", name)
			}
		}
	}
	for _, name := range []string{"", "pin", "pings", "ping\x00", "|", "pubsub|", "|numsub", "ping|x", "pubsub|numsub|x", strings.Repeat("p", 1<<20)} {
		if c := tab.byFullName(name); c != nil {
			t.Errorf("%.20q finds %s", name, c.fullName)
		}
	}
}

func TestParseInt(t *testing.T) {
	good := map[string]int64{
		"0": 0, "1": 1, "-1": -1, "10": 10, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63,
	}
	for s, want := range good {
		if n, ok := parseInt([]byte(s)); !ok || n != want {
			t.Errorf("parseInt(%q) = %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{
		"", "-", "+1", "01", "-0", "-01", " 1", "1 ", "1x", "0x1", "1.0", "1e3", "\x00",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616", "92233720368547758070", "99999999999999999999",
	} {
		if n, ok := parseInt([]byte(s)); ok {
			t.Errorf("parseInt(%q) = %d, want no number", s, n)
		}
	}
}

func TestSyntax(t *testing.T) {
	tab := newTable()
	for name, want := range map[string]string{
		"publish":       "PUBLISH channel message",
		"subscribe":     "SUBSCRIBE channel [channel ...]",
		"unsubscribe":   "UNSUBSCRIBE [channel [channel ...]]",
		"pubsub|numsub": "PUBSUB NUMSUB [channel [channel ...]]",
		"hello":         "HELLO [protover [AUTH username password] [SETNAME clientname]]",
		"client|list":   "CLIENT LIST [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
		"command|list":  "COMMAND LIST [FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
		"time":          "TIME",
		"client|tracking": "CLIENT TRACKING <ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] " +
			"[BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
		"flushall": "FLUSHALL [ASYNC | SYNC]",
		"scan":     "SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]",
	} {
		if got := tab.byFullName(name).syntax(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
