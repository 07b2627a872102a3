package course

import (
	"fmt"
	"strings"
	"time"
)

// A Library is one client library behind the calls that the course needs.
//
// Subscribe and its kin emit every ack and, from then on, every message; those
// that end a subscription emit their acks too. None needs to wait for them. The
// rest wait for the reply. All end the program when the library says no.
type Library interface {
	// Info returns what CLIENT INFO says of the connection that publishes.
	Info() string

	Subscribe(channels ...string)
	PSubscribe(pattern string)
	SSubscribe(channel string)
	Unsubscribe(channel string)
	PUnsubscribe(pattern string)
	SUnsubscribe(channel string)

	// Ping sends PING on the connection that is subscribed, and a line "pong"
	// is emitted for the answer.
	Ping()

	Publish(channel, payload string) int64
	SPublish(channel, payload string) int64
	// PublishAll publishes to one channel in one pipeline.
	PublishAll(channel string, payloads []string) []int64

	// Kill closes all connections that are subscribed, and counts them.
	Kill() int64
	// Subscribers returns what CLIENT LIST says of the connections that are
	// subscribed.
	Subscribers() string
}

// Run runs the course.
func Run(l Library) {
	info := l.Info()
	Emit("session", field(info, "resp"), field(info, "user"))

	l.Subscribe("news", "weather")
	Await("subscribe", 2)
	l.PSubscribe("n*")
	Await("psubscribe", 1)
	if Steps("shard") {
		l.SSubscribe("orders")
		Await("ssubscribe", 1)
	}

	publish := func(channel, payload string) {
		Emit("publish", channel, l.Publish(channel, payload))
	}
	publish("news", "hello")
	publish("weather", everyByte())
	publish("news", "")
	publish("weather", mebibyte())
	publish("void", "unheard")
	if Steps("shard") {
		Emit("spublish", "orders", l.SPublish("orders", "shard"))
		Await("smessage", 1)
	}
	for _, n := range l.PublishAll("weather", numbers()) {
		Emit("publish", "weather", n)
	}
	Await("message", 4+len(numbers()))
	Await("pmessage", 2)

	if Steps("ping") {
		l.Ping()
		Await("pong", 1)
	}

	publish("news", "leave")
	Await("message", 5+len(numbers()))
	l.Unsubscribe("news")
	Await("unsubscribe", 1)
	publish("news", "pattern only")
	Await("pmessage", 4)

	if Steps("reconnect") {
		killed := field(l.Subscribers(), "id")
		Emit("killing")
		Emit("killed", l.Kill())
		awaitRenewed(l, killed)
		publish("weather", "again")
		publish("news", "again")
		Await("message", 6+len(numbers()))
		Await("pmessage", 5)
	}

	l.PUnsubscribe("n*")
	Await("punsubscribe", 1)
	l.Unsubscribe("weather")
	Await("unsubscribe", 2)
	if Steps("shard") {
		l.SUnsubscribe("orders")
		Await("sunsubscribe", 1)
	}
	publish("weather", "late")
	Emit("done")
}

// field returns the value of one field of the first line of CLIENT INFO or
// CLIENT LIST.
func field(info, name string) string {
	for f := range strings.FieldsSeq(info) {
		if value, ok := strings.CutPrefix(f, name+"="); ok {
			return value
		}
	}
	return ""
}

// awaitRenewed waits until another connection than the killed one, and no more
// than that, has the subscriptions: no library says when it has subscribed
// again.
func awaitRenewed(l Library, killed string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		list := l.Subscribers()
		if strings.Count(list, "id=") == 1 && field(list, "id") != killed &&
			field(list, "sub") == "1" && field(list, "psub") == "1" {
			return
		}
		if time.Now().After(deadline) {
			Fail("the library did not subscribe again:\n%s", list)
		}
	}
}

// everyByte returns each value that a byte can have.
func everyByte() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

// mebibyte returns 1 MiB of numbered lines.
func mebibyte() string {
	var b strings.Builder
	for i := range 1 << 16 {
		fmt.Fprintf(&b, "%015d\n", i)
	}
	return b.String()
}

// numbers returns the payloads "0" to "199".
func numbers() []string {
	all := make([]string, 200)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return all
}
