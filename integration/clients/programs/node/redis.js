// Runs the course with node-redis, of the version that the first argument names
// as package.json does. It does not show the acks.

'use strict'

const { connectRedis } = require('./connect')
const { emit, payload, run } = require('./course')

async function main () {
  const client = await connectRedis(process.argv[2])
  const sub = await connectRedis(process.argv[2])
  const buffers = true // payloads as Buffers, not as text

  const onMessage = (p, channel) => emit('message', channel, payload(p))
  const onPatternMessage = (p, channel) => emit('pmessage', 'n*', channel, payload(p))
  const onShardMessage = (p, channel) => emit('smessage', channel, payload(p))

  await run({
    info: () => client.sendCommand(['CLIENT', 'INFO']),
    subscribe: (channels) => sub.subscribe(channels, onMessage, buffers),
    psubscribe: (pattern) => sub.pSubscribe(pattern, onPatternMessage, buffers),
    ssubscribe: (channel) => sub.sSubscribe(channel, onShardMessage, buffers),
    unsubscribe: (channel) => sub.unsubscribe(channel, onMessage, buffers),
    punsubscribe: (pattern) => sub.pUnsubscribe(pattern, onPatternMessage, buffers),
    sunsubscribe: (channel) => sub.sUnsubscribe(channel, onShardMessage, buffers),
    ping: () => sub.ping(),
    publish: (channel, p) => client.publish(channel, p),
    spublish: (channel, p) => client.sPublish(channel, p),
    // What is called in one turn goes out in one pipeline.
    publishAll: (channel, payloads) => Promise.all(payloads.map((p) => client.publish(channel, p))),
    kill: () => client.clientKill({ filter: 'TYPE', type: 'pubsub' }),
    subscribers: () => client.sendCommand(['CLIENT', 'LIST', 'TYPE', 'pubsub']),
    close: () => Promise.all([client.close(), sub.close()])
  })
}

main()
