// Rueidis runs the course with rueidis, once it has connected: with RESP3 it
// wants CLIENT TRACKING, and puts commands and messages on one connection.
package main

import (
	"context"
	"strings"

	"github.com/redis/rueidis"

	"programs/course"
)

func main() {
	// Two clients: one alone would kill the connection it asks with.
	course.Run(&library{client: connect(), sub: connect()})
}

func connect() rueidis.Client {
	user, password := course.Credentials()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{course.Addr()}, Username: user, Password: password, TLSConfig: course.TLS(),
		// RESP2 has no client side caching.
		AlwaysRESP2: course.RESP2(), DisableCache: course.RESP2(),
	})
	course.Check(err, "connect")
	return c
}

type library struct {
	client, sub rueidis.Client
}

// receive emits the acks and the messages of one subscription until it ends.
// The library renews it after an error of the connection.
func (l *library) receive(kind string, subscribe rueidis.Completed) {
	ctx := rueidis.WithOnSubscriptionHook(context.Background(), func(s rueidis.PubSubSubscription) {
		course.Emit(s.Kind, s.Channel, s.Count)
	})
	err := l.sub.Receive(ctx, subscribe, func(m rueidis.PubSubMessage) {
		if m.Pattern != "" {
			course.Emit(kind, m.Pattern, m.Channel, course.Payload(m.Message))
		} else {
			course.Emit(kind, m.Channel, course.Payload(m.Message))
		}
	})
	course.Check(err, "receive")
}

func (l *library) Info() string {
	text, err := l.client.Do(context.Background(), l.client.B().ClientInfo().Build()).ToString()
	course.Check(err, "client info")
	return text
}

// Subscribe makes one subscription for each channel: the library ends one when
// any of its channels is unsubscribed.
func (l *library) Subscribe(channels ...string) {
	for i, c := range channels {
		go l.receive("message", l.sub.B().Subscribe().Channel(c).Build())
		course.Await("subscribe", i+1)
	}
}

func (l *library) PSubscribe(pattern string) {
	go l.receive("pmessage", l.sub.B().Psubscribe().Pattern(pattern).Build())
}

func (l *library) SSubscribe(channel string) {
	go l.receive("smessage", l.sub.B().Ssubscribe().Channel(channel).Build())
}

func (l *library) end(unsubscribe rueidis.Completed) {
	course.Check(l.sub.Do(context.Background(), unsubscribe).Error(), "unsubscribe")
}

func (l *library) Unsubscribe(channel string) {
	l.end(l.sub.B().Unsubscribe().Channel(channel).Build())
}

func (l *library) PUnsubscribe(pattern string) {
	l.end(l.sub.B().Punsubscribe().Pattern(pattern).Build())
}

func (l *library) SUnsubscribe(channel string) {
	l.end(l.sub.B().Sunsubscribe().Channel(channel).Build())
}

func (l *library) Ping() {
	answer, err := l.sub.Do(context.Background(), l.sub.B().Ping().Build()).ToString()
	course.Check(err, "ping")
	if answer != "PONG" {
		course.Fail("PING answered %q", answer)
	}
	course.Emit("pong")
}

func number(r rueidis.RedisResult) int64 {
	n, err := r.AsInt64()
	course.Check(err, "read an integer")
	return n
}

func (l *library) Publish(channel, payload string) int64 {
	return number(l.client.Do(context.Background(), l.client.B().Publish().Channel(channel).Message(payload).Build()))
}

func (l *library) SPublish(channel, payload string) int64 {
	return number(l.client.Do(context.Background(), l.client.B().Spublish().Channel(channel).Message(payload).Build()))
}

func (l *library) PublishAll(channel string, payloads []string) []int64 {
	var commands rueidis.Commands
	for _, p := range payloads {
		commands = append(commands, l.client.B().Publish().Channel(channel).Message(p).Build())
	}
	var counts []int64
	for _, r := range l.client.DoMulti(context.Background(), commands...) {
		counts = append(counts, number(r))
	}
	return counts
}

func (l *library) Kill() int64 {
	return number(l.client.Do(context.Background(), l.client.B().Arbitrary("CLIENT", "KILL", "TYPE", "pubsub").Build()))
}

func (l *library) Subscribers() string {
	text, err := l.client.Do(context.Background(), l.client.B().Arbitrary("CLIENT", "LIST", "TYPE", "pubsub").Build()).ToString()
	course.Check(err, "client list")
	return strings.TrimPrefix(text, "txt:") // the format of a verbatim string
}
