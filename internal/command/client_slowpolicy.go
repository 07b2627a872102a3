package command

import "broker/shard"

// clientSlowPolicyCommand is CLIENT SLOWPOLICY, which Redis does not have.
func clientSlowPolicyCommand() *command {
	return &command{
		name: "slowpolicy", arity: -2, flags: flagNoScript | flagLoading | flagStale, categories: categoryConnection,
		since: "8.0.6", complexity: "O(1)", extension: true,
		summary: "Tells or sets what becomes of messages for this connection when it does not keep up.",
		args: []arg{
			{name: "policy", kind: kindOneOf, optional: true, args: []arg{
				{name: "disconnect", kind: kindToken, token: "DISCONNECT"},
				{name: "drop-oldest", kind: kindToken, token: "DROP-OLDEST"},
				{name: "drop-newest", kind: kindToken, token: "DROP-NEWEST"},
				{name: "conflate", kind: kindToken, token: "CONFLATE"},
				{name: "default", kind: kindToken, token: "DEFAULT"},
			}},
			{name: "limit", kind: kindInteger, token: "LIMIT", optional: true},
			{name: "notify", kind: kindOneOf, token: "NOTIFY", optional: true, args: []arg{
				{name: "on", kind: kindToken, token: "ON"},
				{name: "off", kind: kindToken, token: "OFF"},
			}},
		},
		help: []string{
			"SLOWPOLICY [DISCONNECT|DROP-OLDEST|DROP-NEWEST|CONFLATE|DEFAULT] [LIMIT <bytes>] [NOTIFY (ON|OFF)]",
			"    Report, or set, what becomes of messages when this client does not keep up.",
		},
		run: (*call).clientSlowPolicy,
	}
}

// DefaultSlowLimitBytes is the limit of a dropping policy that was given none.
const DefaultSlowLimitBytes = 1 << 20

// Bounds of a limit that a client gives.
const (
	minSlowLimit = 1
	maxSlowLimit = 1 << 40
)

var slowPolicyWords = []struct {
	word string
	kind shard.SlowKind
}{
	{"DISCONNECT", shard.SlowDisconnect},
	{"DROP-OLDEST", shard.SlowDropOldest},
	{"DROP-NEWEST", shard.SlowDropNewest},
	{"CONFLATE", shard.SlowConflate},
}

// clientSlowPolicy answers CLIENT SLOWPOLICY. Without arguments it describes
// the policy in force.
func (c *call) clientSlowPolicy() {
	s := c.session
	options := c.args[2:]
	if len(options) == 0 {
		policy, own := s.SlowPolicy()
		w := c.reply()
		w.Map(5)
		w.BulkString("policy")
		w.BulkString(policy.Kind.String())
		w.BulkString("limit")
		w.Int(policy.LimitBytes)
		w.BulkString("own")
		w.Bool(own)
		w.BulkString("notify")
		w.Bool(s.NotifiesDrops())
		w.BulkString("dropped")
		w.Int(s.Dropped())
		return
	}
	policy, notify, failure := parseSlowPolicy(options)
	if failure != "" {
		c.fail(failure)
		return
	}
	s.SetSlowPolicy(policy)
	if notify != nil {
		s.NotifyDrops(*notify)
	}
	c.reply().OK()
}

// parseSlowPolicy reads the arguments behind SLOWPOLICY. A nil policy is
// DEFAULT; a nil notify leaves that as it is.
func parseSlowPolicy(words [][]byte) (policy *shard.SlowPolicy, notify *bool, failure string) {
	if !is(words[0], "DEFAULT") {
		for _, p := range slowPolicyWords {
			if is(words[0], p.word) {
				policy = &shard.SlowPolicy{Kind: p.kind, LimitBytes: DefaultSlowLimitBytes}
			}
		}
		if policy == nil {
			return nil, nil, errSyntax
		}
	}
	for words = words[1:]; len(words) > 0; words = words[2:] {
		switch {
		case len(words) == 1:
			return nil, nil, errSyntax
		case is(words[0], "LIMIT") && policy != nil:
			n, ok := parseInt(words[1])
			if !ok || n < minSlowLimit || n > maxSlowLimit {
				return nil, nil, errSlowLimit
			}
			policy.LimitBytes = n
		case is(words[0], "NOTIFY") && (is(words[1], "ON") || is(words[1], "OFF")):
			on := is(words[1], "ON")
			notify = &on
		default:
			return nil, nil, errSyntax
		}
	}
	return policy, notify, ""
}
