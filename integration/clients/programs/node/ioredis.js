// Runs the course with ioredis, of the version that the first argument names as
// package.json does.

'use strict'

const { connectIoredis } = require('./connect')
const { emit, payload, run } = require('./course')

async function main () {
  const redis = await connectIoredis(process.argv[2])
  const sub = await connectIoredis(process.argv[2])
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
