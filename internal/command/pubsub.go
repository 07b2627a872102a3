// Publish and subscribe.
//
// redis.io/docs/latest/commands/?group=pubsub

package command

import (
	"slices"

	"broker/channelstore"
	"broker/shard"
)

const flagsSubscribe = flagPubSub | flagNoScript | flagLoading | flagStale

func pubsubCommands() []*command {
	subscribe := func(name, since string, kind channelstore.Kind, channels keySpec, of, summary string) *command {
		use := allChannels
		if kind == channelstore.Patterns {
			use = allPatterns
		}
		return &command{
			name: name, arity: -2, flags: flagsSubscribe, keys: channels, channels: use, inSubscriberMode: true, frequent: true, kind: kind,
			blocks: kind == channelstore.ShardChannels,
			group:  "pubsub", since: since, summary: summary,
			complexity: "O(N) for N names, independent of how many subscribers they have",
			args:       []arg{{name: of, kind: kindOf(kind), multiple: true}},
			run:        func(c *call) { c.subscribe(kind) },
		}
	}
	unsubscribe := func(name, since string, kind channelstore.Kind, channels keySpec, of, summary string) *command {
		return &command{
			name: name, arity: -1, flags: flagsSubscribe, keys: channels, inSubscriberMode: true, frequent: true, kind: kind,
			group: "pubsub", since: since, summary: summary,
			complexity: "O(N) for N names that are dropped",
			args:       []arg{{name: of, kind: kindOf(kind), optional: true, multiple: true}},
			run:        func(c *call) { c.session.Unsubscribe(kind, c.args[1:]) },
		}
	}
	publish := func(name, since string, kind channelstore.Kind, channels keySpec, to, summary, complexity string) *command {
		return &command{
			name: name, arity: 3, flags: flagPubSub | flagLoading | flagStale | flagFast, keys: channels, channels: firstChannel, frequent: true,
			group: "pubsub", since: since, summary: summary, complexity: complexity,
			args: []arg{{name: to, kind: kindString}, {name: "message", kind: kindString}},
			run: func(c *call) {
				n := c.session.Publish(kind, c.args[1], c.args[2])
				c.reply().Int(int64(n))
			},
		}
	}
	every := keySpec{first: 1, last: -1, flags: notKeys}
	return []*command{
		subscribe("subscribe", "2.0.0", channelstore.Channels, keySpec{}, "channel",
			"Receives the messages of the named channels."),
		unsubscribe("unsubscribe", "2.0.0", channelstore.Channels, keySpec{}, "channel",
			"Stops receiving the messages of the named channels, or of all."),
		subscribe("psubscribe", "2.0.0", channelstore.Patterns, keySpec{}, "pattern",
			"Receives the messages of every channel whose name matches."),
		unsubscribe("punsubscribe", "2.0.0", channelstore.Patterns, keySpec{}, "pattern",
			"Drops the named patterns, or all."),
		subscribe("ssubscribe", "7.0.0", channelstore.ShardChannels, every, "shardchannel",
			"Receives the messages of the named shard channels."),
		unsubscribe("sunsubscribe", "7.0.0", channelstore.ShardChannels, every, "shardchannel",
			"Stops receiving the messages of the named shard channels, or of all."),
		publish("publish", "2.0.0", channelstore.Channels, keySpec{}, "channel",
			"Sends a message to a channel's subscribers and returns their number.",
			"O(N+M) for N subscribers of the channel and M subscriptions of matching patterns"),
		publish("spublish", "7.0.0", channelstore.ShardChannels, keySpec{first: 1, last: 1, flags: notKeys}, "shardchannel",
			"Sends a message to a shard channel's subscribers and returns their number.",
			"O(N) for N subscribers of the shard channel"),
		pubsubContainer(),
	}
}

// subscribe refuses what would go over a limit before anything is subscribed
// to. A name that is held already, or stands twice, counts as a new one.
func (c *call) subscribe(kind channelstore.Kind) {
	s, names, limits := c.session, c.args[1:], c.d.runtime.Load()
	if limits.MaxSubscriptions > 0 {
		held := s.Subscriptions(channelstore.Channels) + s.Subscriptions(channelstore.ShardChannels) + s.Subscriptions(channelstore.Patterns)
		if held+len(names) > limits.MaxSubscriptions {
			c.fail(errTooManySubscriptions)
			return
		}
	}
	if kind == channelstore.Patterns && limits.MaxPatternBytes > 0 {
		for _, name := range names {
			if len(name) > limits.MaxPatternBytes {
				c.fail(errLongPattern)
				return
			}
		}
	}
	if len(names) > namesPerTurn {
		names = cloneArgs(names)
	}
	c.d.subscribeSlice(s, kind, names)
}

// namesPerTurn is how many names one command may subscribe to in one turn.
const namesPerTurn = 512

// subscribeSlice subscribes to names, a slice per turn. Between two turns the
// session's user may have lost what the command was checked for, and whoever
// took it away has seen the slices before only; so each is checked when it is
// its turn.
func (d *Dispatcher) subscribeSlice(s *shard.Session, kind channelstore.Kind, names [][]byte) {
	now, later := names[:min(len(names), namesPerTurn)], names[min(len(names), namesPerTurn):]
	if st := stateOf(s); st != nil {
		st.granted(kind, now)
	}
	s.Subscribe(kind, now)
	if len(later) == 0 {
		return
	}
	s.Yield(func() {
		rules := d.userOf(s).Rules()
		for _, name := range later[:min(len(later), namesPerTurn)] {
			if !rules.Unrestricted() && !rules.Covers(string(name), kind == channelstore.Patterns) {
				s.CloseNow(shard.CloseByRevocation)
				return
			}
		}
		d.subscribeSlice(s, kind, later)
	})
}

func kindOf(kind channelstore.Kind) argKind {
	if kind == channelstore.Patterns {
		return kindPattern
	}
	return kindString
}

func pubsubContainer() *command {
	const flags = flagPubSub | flagLoading | flagStale
	pattern := []arg{{name: "pattern", kind: kindPattern, optional: true}}
	pubsub := &command{
		name: "pubsub", arity: -2,
		group: "pubsub", since: "2.8.0", complexity: "that of the subcommand",
		summary: "Tells what is subscribed to.",
		subs: []*command{
			{
				name: "channels", arity: -2, flags: flags, since: "2.8.0", args: pattern,
				complexity: "O(N) for N channels that have subscribers",
				summary:    "Lists the channels that have subscribers, patterns not counted.",
				help: []string{
					"CHANNELS [<pattern>]",
					"    Return the currently active channels matching a <pattern> (default: '*').",
				},
				run: func(c *call) { c.listChannels(channelstore.Channels) },
			},
			{
				name: "numpat", arity: 2, flags: flags, since: "2.8.0",
				complexity: "O(1)",
				summary:    "Counts the different patterns that are subscribed to.",
				help: []string{
					"NUMPAT",
					"    Return number of subscriptions to patterns.",
				},
				run: func(c *call) {
					c.reply().Int(int64(c.session.Store().Count(channelstore.Patterns)))
				},
			},
			{
				name: "numsub", arity: -2, flags: flags, since: "2.8.0",
				complexity: "O(N) for N names",
				args:       []arg{{name: "channel", kind: kindString, optional: true, multiple: true}},
				summary:    "Counts the subscribers of each named channel, patterns not counted.",
				help: []string{
					"NUMSUB [<channel> ...]",
					"    Return the number of subscribers for the specified channels, excluding",
					"    pattern subscriptions(default: no channels).",
				},
				run: func(c *call) { c.countSubscribers(channelstore.Channels) },
			},
			{
				name: "shardchannels", arity: -2, flags: flags, since: "7.0.0", args: pattern,
				complexity: "O(N) for N shard channels that have subscribers",
				summary:    "Lists the shard channels that have subscribers.",
				help: []string{
					"SHARDCHANNELS [<pattern>]",
					"    Return the currently active shard level channels matching a <pattern> (default: '*').",
				},
				run: func(c *call) { c.listChannels(channelstore.ShardChannels) },
			},
			{
				name: "shardnumsub", arity: -2, flags: flags, since: "7.0.0",
				complexity: "O(N) for N names",
				args:       []arg{{name: "shardchannel", kind: kindString, optional: true, multiple: true}},
				summary:    "Counts the subscribers of each named shard channel.",
				help: []string{
					"SHARDNUMSUB [<shardchannel> ...]",
					"    Return the number of subscribers for the specified shard level channel(s)",
				},
				run: func(c *call) { c.countSubscribers(channelstore.ShardChannels) },
			},
			helpCommand("6.2.0", 0),
		},
	}
	help := len(pubsub.subs) - 1
	pubsub.subs = slices.Insert(pubsub.subs, help, observeCommands()...)
	return pubsub
}
