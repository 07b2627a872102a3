package differential

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
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
var differences = []difference{}

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

// exactly matches a step whose command begins with the given words.
func exactly(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\w+: ` + strings.ReplaceAll(regexp.QuoteMeta(words), " ", `\s+`))
}
