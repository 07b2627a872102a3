"""Runs the course with redis-py. The steps and the lines are described in the
package that starts the programs, integration/clients."""

import os
import sys
import time
import zlib

import redis

PATIENCE_SECONDS = 15


def emit(*words):
    print(*words, flush=True)


def payload(p):
    return "%d/%08x" % (len(p), zlib.crc32(p))


def connect():
    ca = os.environ.get("BROKER_CA")
    return redis.Redis(
        host=os.environ["BROKER_HOST"],
        port=int(os.environ["BROKER_PORT"]),
        username=os.environ.get("BROKER_USER") or None,
        password=os.environ.get("BROKER_PASSWORD") or None,
        ssl=bool(ca),
        ssl_ca_certs=ca or None,
    )


class Subscriber:
    def __init__(self, client):
        self.pubsub = client.pubsub()
        self.lines = {}  # the number of lines of each kind

    def take(self, timeout):
        """Emits the next thing that arrives, if it does within timeout."""
        got = self.pubsub.get_message(timeout=timeout)
        if got is None:
            return
        kind, data = got["type"], got["data"]
        if kind == "pong":
            emit("pong")
        elif kind == "pmessage":
            emit(kind, got["pattern"].decode(), got["channel"].decode(), payload(data))
        elif kind == "message":
            emit(kind, got["channel"].decode(), payload(data))
        else:
            emit(kind, got["channel"].decode(), data)
        self.lines[kind] = self.lines.get(kind, 0) + 1

    def await_lines(self, kind, n):
        """Takes until n lines of a kind were emitted since the start."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.lines.get(kind, 0) < n:
            self.take(1)
            if time.monotonic() > deadline:
                sys.exit("waited for %d lines of %s, there are %d" % (n, kind, self.lines.get(kind, 0)))


def main():
    steps = os.environ.get("BROKER_STEPS", "").split()
    client = connect()
    sub = Subscriber(connect())

    info = client.client_info()
    emit("session", info["resp"].strip(), info["user"])

    def publish(channel, p):
        emit("publish", channel, client.publish(channel, p))

    sub.pubsub.subscribe("news", "weather")
    sub.await_lines("subscribe", 2)
    sub.pubsub.psubscribe("n*")
    sub.await_lines("psubscribe", 1)

    publish("news", "hello")
    publish("weather", bytes(range(256)))
    publish("news", "")
    publish("weather", "".join("%015d\n" % i for i in range(1 << 16)))
    publish("void", "unheard")
    # The pipeline is a transaction: MULTI and EXEC around it.
    pipeline = client.pipeline()
    for i in range(200):
        pipeline.publish("weather", str(i))
    for n in pipeline.execute():
        emit("publish", "weather", n)
    sub.await_lines("message", 204)
    sub.await_lines("pmessage", 2)

    if "ping" in steps:
        sub.pubsub.ping("still there")
        sub.await_lines("pong", 1)

    publish("news", "leave")
    sub.await_lines("message", 205)
    sub.pubsub.unsubscribe("news")
    sub.await_lines("unsubscribe", 1)
    publish("news", "pattern only")
    sub.await_lines("pmessage", 4)

    if "reconnect" in steps:
        emit("killing")
        emit("killed", client.client_kill_filter(_type="pubsub"))
        # It says once that the connection is gone, and connects and subscribes
        # again when it is asked for more.
        try:
            sub.take(PATIENCE_SECONDS)
            sys.exit("the killed connection still answers")
        except redis.ConnectionError:
            pass
        before = dict(sub.lines)
        sub.await_lines("subscribe", before["subscribe"] + 1)
        sub.await_lines("psubscribe", before["psubscribe"] + 1)
        publish("weather", "again")
        publish("news", "again")
        sub.await_lines("message", 206)
        sub.await_lines("pmessage", 5)

    sub.pubsub.punsubscribe("n*")
    sub.await_lines("punsubscribe", 1)
    sub.pubsub.unsubscribe("weather")
    sub.await_lines("unsubscribe", 2)
    publish("weather", "late")
    emit("done")


main()
