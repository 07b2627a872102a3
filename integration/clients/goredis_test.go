package clients

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"broker/integration/harness"
)

// newGoRedis returns a go-redis client that speaks the given RESP version; it
// is closed when the test ends.
func newGoRedis(t *testing.T, addr string, proto int) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: proto})
	t.Cleanup(func() { c.Close() })
	return c
}

// onEachProtocol runs the test for both RESP versions of every server.
func onEachProtocol(t *testing.T, test func(t *testing.T, s server, proto int)) {
	onEach(t, func(t *testing.T, s server) {
		for _, proto := range []int{2, 3} {
			t.Run(fmt.Sprintf("resp=%d", proto), func(t *testing.T) { test(t, s, proto) })
		}
	})
}

// patient returns a context that ends a call which would never return.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	t.Cleanup(cancel)
	return ctx
}

// receive takes the next thing that a subscription received and prints it in
// one form for all kinds.
func receive(t *testing.T, ps *redis.PubSub) string {
	t.Helper()
	got, err := ps.Receive(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	switch m := got.(type) {
	case *redis.Subscription:
		return fmt.Sprintf("%s %s %d", m.Kind, m.Channel, m.Count)
	case *redis.Message:
		return fmt.Sprintf("message %s %s %q", m.Channel, m.Pattern, m.Payload)
	case *redis.Pong:
		return fmt.Sprintf("pong %s", m.Payload)
	}
	t.Fatalf("received %T", got)
	return ""
}

func expect(t *testing.T, ps *redis.PubSub, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := receive(t, ps); got != w {
			t.Fatalf("received %q, want %q", got, w)
		}
	}
}

func publish(t *testing.T, c *redis.Client, channel, payload string, want int64) {
	t.Helper()
	if n, err := c.Publish(patient(t), channel, payload).Result(); err != nil || n != want {
		t.Fatalf("PUBLISH %s: %d, %v; want %d", channel, n, err, want)
	}
}

func TestGoRedis_ChannelsPatternsAndShardChannels(t *testing.T) {
	onEachProtocol(t, func(t *testing.T, s server, proto int) {
		target, ctx := s.start(t, ""), patient(t)
		c := newGoRedis(t, target.Addr, proto)
		if got, err := c.Ping(ctx).Result(); err != nil || got != "PONG" {
			t.Fatalf("PING: %q, %v", got, err)
		}

		channels := c.Subscribe(ctx, "news", "weather")
		defer channels.Close()
		expect(t, channels, "subscribe news 1", "subscribe weather 2")
		patterns := c.PSubscribe(ctx, "n*")
		defer patterns.Close()
		expect(t, patterns, "psubscribe n* 1")
		shard := c.SSubscribe(ctx, "news")
		defer shard.Close()
		expect(t, shard, "ssubscribe news 1")

		publish(t, c, "news", "one", 2)
		publish(t, c, "nova", "two", 1)
		publish(t, c, "weather", "\x00\xff\r\n", 1)
		publish(t, c, "other", "three", 0)
		if n, err := c.SPublish(ctx, "news", "four").Result(); err != nil || n != 1 {
			t.Fatalf("SPUBLISH: %d, %v", n, err)
		}
		expect(t, channels, `message news  "one"`, `message weather  "\x00\xff\r\n"`)
		expect(t, patterns, `message news n* "one"`, `message nova n* "two"`)
		expect(t, shard, `message news  "four"`)

		counts, err := c.PubSubNumSub(ctx, "news", "weather", "other").Result()
		if err != nil || counts["news"] != 1 || counts["weather"] != 1 || counts["other"] != 0 {
			t.Errorf("PUBSUB NUMSUB: %v, %v", counts, err)
		}
		if counts, err := c.PubSubShardNumSub(ctx, "news").Result(); err != nil || counts["news"] != 1 {
			t.Errorf("PUBSUB SHARDNUMSUB: %v, %v", counts, err)
		}
		if n, err := c.PubSubNumPat(ctx).Result(); err != nil || n != 1 {
			t.Errorf("PUBSUB NUMPAT: %d, %v", n, err)
		}
		names, err := c.PubSubChannels(ctx, "*").Result()
		slices.Sort(names)
		if err != nil || !slices.Equal(names, []string{"news", "weather"}) {
			t.Errorf("PUBSUB CHANNELS: %v, %v", names, err)
		}
		if names, err := c.PubSubShardChannels(ctx, "*").Result(); err != nil || !slices.Equal(names, []string{"news"}) {
			t.Errorf("PUBSUB SHARDCHANNELS: %v, %v", names, err)
		}

		if err := channels.Ping(ctx, "still there"); err != nil {
			t.Fatal(err)
		}
		expect(t, channels, "pong still there")
		if err := channels.Unsubscribe(ctx, "news"); err != nil {
			t.Fatal(err)
		}
		expect(t, channels, "unsubscribe news 1")
		publish(t, c, "news", "five", 1)
		if err := channels.Subscribe(ctx, "late"); err != nil {
			t.Fatal(err)
		}
		expect(t, channels, "subscribe late 2")
		publish(t, c, "late", "six", 1)
		expect(t, channels, `message late  "six"`)
	})
}

func TestGoRedis_PipelinedPublishes(t *testing.T) {
	onEachProtocol(t, func(t *testing.T, s server, proto int) {
		target, ctx := s.start(t, ""), patient(t)
		c := newGoRedis(t, target.Addr, proto)
		ps := c.Subscribe(ctx, "x")
		defer ps.Close()
		expect(t, ps, "subscribe x 1")
		const messages = 500
		pipe := c.Pipeline()
		for i := range messages {
			pipe.Publish(ctx, "x", i)
		}
		replies, err := pipe.Exec(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range replies {
			if n, err := r.(*redis.IntCmd).Result(); err != nil || n != 1 {
				t.Fatalf("PUBLISH %d: %d, %v", i, n, err)
			}
		}
		for i := range messages {
			expect(t, ps, fmt.Sprintf(`message x  "%d"`, i))
		}
	})
}

func TestGoRedis_SubscribesAgainAfterRestart(t *testing.T) {
	onEachProtocol(t, func(t *testing.T, s server, proto int) {
		target, ctx := s.start(t, ""), patient(t)
		c := newGoRedis(t, target.Addr, proto)
		ps := c.Subscribe(ctx, "x", "y")
		defer ps.Close()
		if err := ps.PSubscribe(ctx, "z*"); err != nil {
			t.Fatal(err)
		}
		events := ps.ChannelWithSubscriptions()
		// next returns the next message, and counts in passing the
		// subscriptions that the server acknowledged.
		acked := map[string]bool{}
		next := func() any {
			select {
			case e := <-events:
				if sub, ok := e.(*redis.Subscription); ok {
					acked[sub.Kind+" "+sub.Channel] = true
				}
				return e
			case <-ctx.Done():
				t.Fatalf("nothing came, acknowledged are %v", acked)
				return nil
			}
		}
		all := func() bool {
			return acked["subscribe x"] && acked["subscribe y"] && acked["psubscribe z*"]
		}
		for !all() {
			next()
		}
		publish(t, c, "x", "before", 1)
		if m, ok := next().(*redis.Message); !ok || m.Payload != "before" {
			t.Fatalf("received %v", m)
		}

		target.Stop()
		s.start(t, target.Addr)
		clear(acked)
		for !all() {
			next()
		}
		for _, channel := range []string{"x", "y", "zz"} {
			publish(t, c, channel, "after "+channel, 1)
			if m, ok := next().(*redis.Message); !ok || m.Payload != "after "+channel {
				t.Fatalf("received %v", m)
			}
		}
	})
}

func TestGoRedis_ManySubscribersEachGetEverything(t *testing.T) {
	onEachProtocol(t, func(t *testing.T, s server, proto int) {
		target, ctx := s.start(t, ""), patient(t)
		c := newGoRedis(t, target.Addr, proto)
		const subscribers, messages = 20, 50
		var all []*redis.PubSub
		for range subscribers {
			ps := c.Subscribe(ctx, "x")
			defer ps.Close()
			expect(t, ps, "subscribe x 1")
			all = append(all, ps)
		}
		for i := range messages {
			publish(t, c, "x", fmt.Sprint(i), subscribers)
		}
		for _, ps := range all {
			for i := range messages {
				expect(t, ps, fmt.Sprintf(`message x  "%d"`, i))
			}
		}
	})
}
