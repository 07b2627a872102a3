// Goredis runs the course with go-redis.
package main

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"programs/course"
)

func main() {
	user, password := course.Credentials()
	proto := 3
	if course.RESP2() {
		proto = 2
	}
	c := redis.NewClient(&redis.Options{
		Addr: course.Addr(), Username: user, Password: password, TLSConfig: course.TLS(), Protocol: proto,
	})
	course.Run(&library{client: c, sub: c.Subscribe(context.Background())})
}

type library struct {
	client  *redis.Client
	sub     *redis.PubSub
	receive sync.Once
}

// subscribed starts to receive once there is something that can arrive.
func (l *library) subscribed(err error) {
	course.Check(err, "subscribe")
	l.receive.Do(func() { go l.emitAll() })
}

// emitAll emits what arrives. After an error the library connects again when
// it is asked for more.
func (l *library) emitAll() {
	for failed := 0; failed < 100; {
		v, err := l.sub.Receive(context.Background())
		if errors.Is(err, redis.ErrClosed) {
			return
		}
		if err != nil {
			failed++
			continue
		}
		failed = 0
		switch m := v.(type) {
		case *redis.Subscription:
			course.Emit(m.Kind, m.Channel, m.Count)
		case *redis.Pong:
			course.Emit("pong")
		case *redis.Message:
			switch {
			case m.Pattern != "":
				course.Emit("pmessage", m.Pattern, m.Channel, course.Payload(m.Payload))
			case m.Channel == "orders": // the library does not tell smessage
				course.Emit("smessage", m.Channel, course.Payload(m.Payload))
			default:
				course.Emit("message", m.Channel, course.Payload(m.Payload))
			}
		}
	}
	course.Fail("nothing but errors")
}

func (l *library) Info() string {
	text, err := l.client.Do(context.Background(), "CLIENT", "INFO").Text()
	course.Check(err, "client info")
	return text
}

func (l *library) Subscribe(channels ...string) {
	l.subscribed(l.sub.Subscribe(context.Background(), channels...))
}

func (l *library) PSubscribe(pattern string) {
	l.subscribed(l.sub.PSubscribe(context.Background(), pattern))
}

func (l *library) SSubscribe(channel string) {
	l.subscribed(l.sub.SSubscribe(context.Background(), channel))
}

func (l *library) Unsubscribe(channel string) {
	course.Check(l.sub.Unsubscribe(context.Background(), channel), "unsubscribe")
}

func (l *library) PUnsubscribe(pattern string) {
	course.Check(l.sub.PUnsubscribe(context.Background(), pattern), "punsubscribe")
}

func (l *library) SUnsubscribe(channel string) {
	course.Check(l.sub.SUnsubscribe(context.Background(), channel), "sunsubscribe")
}

func (l *library) Ping() { course.Check(l.sub.Ping(context.Background()), "ping") }

// number returns the command's integer reply.
func number(c *redis.IntCmd) int64 {
	n, err := c.Result()
	course.Check(err, c.Name())
	return n
}

func (l *library) Publish(channel, payload string) int64 {
	return number(l.client.Publish(context.Background(), channel, payload))
}

func (l *library) SPublish(channel, payload string) int64 {
	return number(l.client.SPublish(context.Background(), channel, payload))
}

func (l *library) PublishAll(channel string, payloads []string) []int64 {
	pipe := l.client.Pipeline()
	for _, p := range payloads {
		pipe.Publish(context.Background(), channel, p)
	}
	replies, err := pipe.Exec(context.Background())
	course.Check(err, "publish in a pipeline")
	var counts []int64
	for _, r := range replies {
		counts = append(counts, number(r.(*redis.IntCmd)))
	}
	return counts
}

func (l *library) Kill() int64 {
	return number(l.client.ClientKillByFilter(context.Background(), "TYPE", "pubsub"))
}

func (l *library) Subscribers() string {
	text, err := l.client.Do(context.Background(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	course.Check(err, "client list")
	return text
}
