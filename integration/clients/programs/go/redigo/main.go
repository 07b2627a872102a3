// Redigo runs the course with redigo. It does not connect again by itself.
package main

import (
	"sync"

	"github.com/gomodule/redigo/redis"

	"programs/course"
)

func main() {
	l := &library{conn: dial()}
	l.sub = redis.PubSubConn{Conn: dial()}
	course.Run(l)
}

func dial() redis.Conn {
	user, password := course.Credentials()
	options := []redis.DialOption{redis.DialUsername(user), redis.DialPassword(password)}
	if config := course.TLS(); config != nil {
		options = append(options, redis.DialUseTLS(true), redis.DialTLSConfig(config))
	}
	c, err := redis.Dial("tcp", course.Addr(), options...)
	course.Check(err, "connect")
	return c
}

type library struct {
	conn    redis.Conn
	sub     redis.PubSubConn
	receive sync.Once
}

// subscribed starts to receive once there is something that can arrive.
func (l *library) subscribed(err error) {
	course.Check(err, "subscribe")
	l.receive.Do(func() { go l.emitAll() })
}

func (l *library) emitAll() {
	for {
		switch m := l.sub.Receive().(type) {
		case redis.Subscription:
			course.Emit(m.Kind, m.Channel, m.Count)
		case redis.Pong:
			course.Emit("pong")
		case redis.Message:
			if m.Pattern != "" {
				course.Emit("pmessage", m.Pattern, m.Channel, course.Payload(m.Data))
			} else {
				course.Emit("message", m.Channel, course.Payload(m.Data))
			}
		case error:
			course.Check(m, "receive")
		}
	}
}

func (l *library) Info() string {
	text, err := redis.String(l.conn.Do("CLIENT", "INFO"))
	course.Check(err, "client info")
	return text
}

func (l *library) Subscribe(channels ...string) {
	l.subscribed(l.sub.Subscribe(redis.Args{}.AddFlat(channels)...))
}

func (l *library) PSubscribe(pattern string) { l.subscribed(l.sub.PSubscribe(pattern)) }

func (l *library) Unsubscribe(channel string) {
	course.Check(l.sub.Unsubscribe(channel), "unsubscribe")
}

func (l *library) PUnsubscribe(pattern string) {
	course.Check(l.sub.PUnsubscribe(pattern), "punsubscribe")
}

// SSubscribe and the two below it are not in the library.
func (l *library) SSubscribe(string)   { course.Fail("redigo has no shard channels") }
func (l *library) SUnsubscribe(string) { course.Fail("redigo has no shard channels") }
func (l *library) SPublish(_, _ string) (n int64) {
	course.Fail("redigo has no shard channels")
	return
}

func (l *library) Ping() { course.Check(l.sub.Ping("still there"), "ping") }

func (l *library) number(command string, args ...any) int64 {
	n, err := redis.Int64(l.conn.Do(command, args...))
	course.Check(err, command)
	return n
}

func (l *library) Publish(channel, payload string) int64 {
	return l.number("PUBLISH", channel, payload)
}

func (l *library) PublishAll(channel string, payloads []string) []int64 {
	for _, p := range payloads {
		course.Check(l.conn.Send("PUBLISH", channel, p), "send")
	}
	course.Check(l.conn.Flush(), "flush")
	var counts []int64
	for range payloads {
		n, err := redis.Int64(l.conn.Receive())
		course.Check(err, "receive")
		counts = append(counts, n)
	}
	return counts
}

func (l *library) Kill() int64 { return l.number("CLIENT", "KILL", "TYPE", "pubsub") }

func (l *library) Subscribers() string {
	text, err := redis.String(l.conn.Do("CLIENT", "LIST", "TYPE", "pubsub"))
	course.Check(err, "client list")
	return text
}
