// Runs the course with ioredis, of the version that the first argument names as
// package.json does.

'use strict'

const { once } = require('node:events')
const { server, emit, payload, run } = require('./course')
const name = process.argv[2]
const { Redis } = require(name)

// Version 5 may not subscribe before it is ready: its own INFO would come
// after.
async function connect () {
  const options = {
    host: server.host,
    port: server.port,
    username: server.username,
    password: server.password,
    tls: server.ca ? { ca: server.ca } : undefined,
    // Version 5 keeps the process alive for this long after its end.
    disconnectTimeout: 100
  }
  // Version 5 knows no other protocol than RESP2.
  if (name !== 'ioredis5') options.protocol = server.proto
  const redis = new Redis(options)
  // It connects again after these.
  redis.on('error', (err) => process.stderr.write(`${err}\n`))
  await once(redis, 'ready')
  return redis
}

async function main () {
  const redis = await connect()
  const sub = await connect()
  sub.on('messageBuffer', (channel, p) => emit('message', channel, payload(p)))
  sub.on('pmessageBuffer', (pattern, channel, p) => emit('pmessage', pattern, channel, payload(p)))
  sub.on('smessageBuffer', (channel, p) => emit('smessage', channel, payload(p)))

  // The library resolves with the count of the last ack only: one call for each
  // channel shows them all.
  const acked = async (kind, channel) => emit(kind, channel, await sub[kind](channel))

  await run({
    info: () => redis.client('INFO'),
    async subscribe (channels) {
      for (const c of channels) await acked('subscribe', c)
    },
    psubscribe: (pattern) => acked('psubscribe', pattern),
    ssubscribe: (channel) => acked('ssubscribe', channel),
    unsubscribe: (channel) => acked('unsubscribe', channel),
    punsubscribe: (pattern) => acked('punsubscribe', pattern),
    sunsubscribe: (channel) => acked('sunsubscribe', channel),
    ping: () => sub.ping(),
    publish: (channel, p) => redis.publish(channel, p),
    spublish: (channel, p) => redis.spublish(channel, p),
    async publishAll (channel, payloads) {
      const pipeline = redis.pipeline()
      for (const p of payloads) pipeline.publish(channel, p)
      return (await pipeline.exec()).map(([err, n]) => {
        if (err) throw err
        return n
      })
    },
    kill: () => redis.client('KILL', 'TYPE', 'pubsub'),
    subscribers: () => redis.client('LIST', 'TYPE', 'pubsub'),
    close: () => Promise.all([redis.quit(), sub.quit()])
  })
}

main()
