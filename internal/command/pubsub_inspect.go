package command

import (
	"broker/channelstore"
	"broker/internal/glob"
)

// listChannels answers PUBSUB CHANNELS and SHARDCHANNELS.
func (c *call) listChannels(kind channelstore.Kind) {
	if len(c.args) > 3 {
		c.fail(unknownOrArity(c.cmd.parent, c.args[1]))
		return
	}
	store := c.session.Store()
	names := make([]string, 0, store.Count(kind))
	all := len(c.args) == 2
	var pattern string
	if !all {
		pattern = string(c.args[2])
	}
	store.Each(kind, func(name string, subscribers int) bool {
		if subscribers > 0 && (all || glob.Match(pattern, name)) {
			names = append(names, name)
		}
		return true
	})
	w := c.reply()
	w.Array(len(names))
	for _, name := range names {
		w.BulkString(name)
	}
}

// countSubscribers answers PUBSUB NUMSUB and SHARDNUMSUB: a flat array in
// RESP3 too.
func (c *call) countSubscribers(kind channelstore.Kind) {
	store := c.session.Store()
	names := c.args[2:]
	w := c.reply()
	w.Array(2 * len(names))
	for _, name := range names {
		w.Bulk(name)
		n := 0
		if list := store.Find(kind, name); list != nil {
			n = list.Len()
		}
		w.Int(int64(n))
	}
}
