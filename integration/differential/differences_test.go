package differential

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"sync"
)

// A difference is one place where the broker is meant to answer otherwise than
// the redis-server 7.0 it is compared with.
type difference struct {
	step   *regexp.Regexp // the steps it concerns, as written in the script
	redis  string         // in redis-server's answer …
	broker string         // … is this in the broker's
	reason string
}

// differences is the whole list.
var differences = []difference{
	{anyStep(`HELP|help`), "    Prints this help.", "    Print this help.", "Redis 7.2 and later"},
	{
		command("CLUSTER FOO"), "-ERR unknown subcommand 'FOO'. Try CLUSTER HELP.", "-ERR This instance has cluster support disabled",
		"clients take any mention of cluster support as the answer, whatever they asked",
	},
	{
		command("CLIENT SETINFO"),
		"-ERR unknown subcommand 'SETINFO'. Try CLIENT HELP.",
		"-ERR Can't execute 'client|setinfo': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
		"CLIENT SETINFO came with Redis 7.2",
	},
	{
		command(`HELLO 3 AUTH nobody x SETNAME "a b"`),
		"-WRONGPASS invalid username-password pair or user is disabled.",
		"-ERR Client names cannot contain spaces, newlines or special characters.",
		"later versions read all options of HELLO before they act on any",
	},
	{
		command("CLIENT GETNAME"), "$7\r\ntoosoon\r\n", "$-1\r\n",
		"later versions read all options of HELLO before they act on any (RESP2)",
	},
	{
		command("CLIENT GETNAME"), "$8\r\ntoosoon3\r\n", "_\r\n",
		"later versions read all options of HELLO before they act on any (RESP3)",
	},
	{
		command("COMMAND INFO client|setname"), "+@connection\r\n+@slow\r\n*0\r\n",
		"+@connection\r\n+@slow\r\n*2\r\n$24\r\nrequest_policy:all_nodes\r\n$29\r\nresponse_policy:all_succeeded\r\n",
		"the tips of Redis 7.2 and later (RESP2)",
	},
	{
		command("COMMAND INFO client|setname"), "+@connection\r\n+@slow\r\n~0\r\n",
		"+@connection\r\n+@slow\r\n~2\r\n$24\r\nrequest_policy:all_nodes\r\n$29\r\nresponse_policy:all_succeeded\r\n",
		"the tips of Redis 7.2 and later (RESP3)",
	},
}

// differencesUsed counts by index how often each entry was needed.
var differencesUsed struct {
	sync.Mutex
	n []int
}

// asBroker rewrites redis-server's answer to a step into the one that is
// prescribed for the broker.
func asBroker(source string, redis []byte) []byte {
	differencesUsed.Lock()
	defer differencesUsed.Unlock()
	if differencesUsed.n == nil {
		differencesUsed.n = make([]int, len(differences))
	}
	for i, d := range differences {
		if d.step.MatchString(source) && bytes.Contains(redis, []byte(d.redis)) {
			redis = bytes.ReplaceAll(redis, []byte(d.redis), []byte(d.broker))
			differencesUsed.n[i]++
		}
	}
	return redis
}

// unusedDifferences lists the entries that nothing needed.
func unusedDifferences() []string {
	differencesUsed.Lock()
	defer differencesUsed.Unlock()
	var unused []string
	for i, d := range differences {
		if differencesUsed.n == nil || differencesUsed.n[i] == 0 {
			unused = append(unused, fmt.Sprintf("%s: %s", d.step, d.reason))
		}
	}
	slices.Sort(unused)
	return unused
}

// command matches the steps whose command is written as given, or begins so.
func command(words string) *regexp.Regexp {
	return regexp.MustCompile(`^\w+: ` + regexp.QuoteMeta(words))
}

// anyStep matches the steps that contain a match of pattern.
func anyStep(pattern string) *regexp.Regexp { return regexp.MustCompile(pattern) }
