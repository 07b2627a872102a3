// Connections of every library to the server that the environment names.

'use strict'

const { once } = require('node:events')
const { server } = require('./course')

// connectIoredis returns a client of ioredis, of the version that name stands
// for in package.json, once it is ready: version 5 may not subscribe before, its
// own INFO would come after.
async function connectIoredis (name) {
  const { Redis } = require(name)
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

// connectRedis returns a client of node-redis, of the version that name stands
// for in package.json.
async function connectRedis (name) {
  const { createClient } = require(name)
  const client = createClient({
    RESP: server.proto,
    username: server.username,
    password: server.password,
    socket: server.ca
      ? { host: server.host, port: server.port, tls: true, ca: server.ca }
      : { host: server.host, port: server.port }
  })
  // It connects again after these.
  client.on('error', (err) => process.stderr.write(`${err}\n`))
  await client.connect()
  return client
}

// connect returns a client of either.
function connect (name) {
  return name.startsWith('ioredis') ? connectIoredis(name) : connectRedis(name)
}

module.exports = { connect, connectIoredis, connectRedis }
