// Runs two Socket.IO servers, a and b, which know of each other through the
// Redis adapter only, with two browsers' worth of clients each, and prints what
// crosses from one to the other.
//
// Arguments: the name of a library in package.json, and "classic" or "sharded".

'use strict'

const { once } = require('node:events')
const http = require('node:http')
const { Server } = require('socket.io')
const { io: connectClient } = require('socket.io-client')
const { createAdapter, createShardedAdapter } = require('@socket.io/redis-adapter')
const { connect } = require('./connect')
const { emit, payload } = require('./course')

const [, , library, kind] = process.argv

async function startServer (name) {
  const pub = await connect(library)
  const sub = await connect(library)
  const listener = http.createServer()
  const io = new Server(listener, {
    adapter: kind === 'sharded' ? createShardedAdapter(pub, sub) : createAdapter(pub, sub)
  })
  // What the other server asks of this one.
  io.on('name', (reply) => reply(name))
  io.on('connection', (socket) => {
    socket.join(['everyone', `clients of ${name}`])
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return { io, pub, sub, port: listener.address().port }
}

async function startClient (name, port) {
  const socket = connectClient(`http://127.0.0.1:${port}`, { transports: ['websocket'], reconnection: false })
  socket.on('question', (text, reply) => reply(`${name} heard ${text}`))
  await once(socket, 'connect')
  return { name, socket }
}

// heard returns what each client gets of an event that send causes; those that
// are not to get it are found out by the next event, which they all get.
async function heard (clients, names, send) {
  const arrived = []
  const listeners = clients.map(({ name, socket }) => {
    const onEvent = (p) => arrived.push(`${name} ${Buffer.isBuffer(p) ? payload(p) : p}`)
    socket.on('event', onEvent)
    return onEvent
  })
  const barrier = Promise.all(clients.map(({ socket }) => once(socket, 'barrier')))
  send()
  servers[0].io.emit('barrier')
  await barrier
  clients.forEach(({ socket }, i) => socket.off('event', listeners[i]))
  emit(names, arrived.sort().join(', '))
}

let servers

// until waits until ask resolves to want: servers learn of each other, and of
// rooms, in their own time.
async function until (want, ask) {
  for (;;) {
    const got = await ask()
    if (got === want) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

async function main () {
  servers = [await startServer('a'), await startServer('b')]
  const [a, b] = servers
  await until(2, () => a.io.of('/').adapter.serverCount())
  await until(2, () => b.io.of('/').adapter.serverCount())
  const clients = [
    await startClient('a1', a.port), await startClient('a2', a.port),
    await startClient('b1', b.port), await startClient('b2', b.port)
  ]
  await until(4, async () => (await a.io.in('everyone').fetchSockets()).length)

  await heard(clients, 'all', () => a.io.emit('event', 'text'))
  await heard(clients, 'binary', () => a.io.emit('event', Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i))))
  await heard(clients, 'large', () => a.io.emit('event', Buffer.alloc(500000, 'x')))
  await heard(clients, 'room', () => a.io.to('clients of b').emit('event', 'to a room'))
  await heard(clients, 'except', () => a.io.except('clients of b').emit('event', 'to the rest'))
  await heard(clients, 'one', () => a.io.to(clients[3].socket.id).emit('event', 'to one'))

  emit('asked', (await a.io.serverSideEmitWithAck('name')).join(', '))
  emit('answered', (await a.io.timeout(5000).emitWithAck('question', 'it')).sort().join(', '))
  a.io.in('clients of b').socketsJoin('joined')
  await until(2, async () => (await a.io.in('joined').fetchSockets()).length)
  await heard(clients, 'joined', () => a.io.to('joined').emit('event', 'to the joined'))
  if (kind === 'classic') {
    const rooms = [...await a.io.of('/').adapter.allRooms()]
    emit('rooms', rooms.filter(r => !clients.some(c => c.socket.id === r)).sort().join(', '))
  }
  const gone = Promise.all([once(clients[2].socket, 'disconnect'), once(clients[3].socket, 'disconnect')])
  a.io.in('joined').disconnectSockets()
  await gone
  await until(2, async () => (await a.io.fetchSockets()).length)
  emit('done')
  process.exit(0)
}

main()
