// What the JavaScript programs share: the course that every client program
// runs, over one library, and the lines that it prints. The steps and the lines
// are described in the package that starts the programs, integration/clients.

'use strict'

const { setTimeout: pause } = require('node:timers/promises')
const fs = require('node:fs')
const zlib = require('node:zlib')

const patienceMs = 15000

const env = process.env
const server = {
  host: env.BROKER_HOST,
  port: Number(env.BROKER_PORT),
  proto: Number(env.BROKER_PROTO),
  username: env.BROKER_USER || undefined,
  password: env.BROKER_PASSWORD || undefined,
  ca: env.BROKER_CA ? fs.readFileSync(env.BROKER_CA) : undefined
}
const steps = (env.BROKER_STEPS || '').split(' ')

// fail ends the program; it is also where what nobody caught ends.
function fail (reason) {
  process.stderr.write(`${reason.stack || reason}\n`, () => process.exit(1))
}
process.on('unhandledRejection', fail)
process.on('uncaughtException', fail)

const printed = {} // the number of lines of each kind
let waiting = [] // { kind, n, resolve }

// emit prints one line of the given kind.
function emit (kind, ...words) {
  process.stdout.write([kind, ...words].join(' ') + '\n')
  printed[kind] = (printed[kind] || 0) + 1
  waiting = waiting.filter(w => {
    if ((printed[w.kind] || 0) < w.n) return true
    w.resolve()
    return false
  })
}

// payload renders a payload, a Buffer, as its length and checksum.
function payload (p) {
  return `${p.length}/${zlib.crc32(p).toString(16).padStart(8, '0')}`
}

// lines waits until n lines of a kind were printed since the program began.
function lines (kind, n) {
  return new Promise((resolve) => {
    if ((printed[kind] || 0) >= n) return resolve()
    const late = setTimeout(
      () => fail(`waited for ${n} lines of ${kind}, there are ${printed[kind] || 0}`), patienceMs)
    waiting.push({ kind, n, resolve: () => { clearTimeout(late); resolve() } })
  })
}

// field returns the value of one field of the first line of CLIENT INFO or
// CLIENT LIST.
function field (text, name) {
  const found = text.split(/\s/).find(f => f.startsWith(`${name}=`))
  return found && found.slice(name.length + 1)
}

// awaitRenewed waits until another connection than the killed one, and no more
// than that, has the subscriptions: no library says when it has subscribed
// again.
async function awaitRenewed (library, killed) {
  for (const deadline = Date.now() + patienceMs; ; await pause(5)) {
    const list = await library.subscribers()
    if (list.split('\n').filter(l => l).length === 1 && field(list, 'id') !== killed &&
      field(list, 'sub') === '1' && field(list, 'psub') === '1') return
    if (Date.now() > deadline) throw new Error(`the library did not subscribe again:\n${list}`)
  }
}

// run runs the course over an object with the functions info, subscribe,
// psubscribe, ssubscribe, unsubscribe, punsubscribe, sunsubscribe, ping, publish,
// spublish, publishAll, kill, subscribers and close. All of them return promises
// of the reply; those that begin or end a subscription emit the acks that the
// library shows, and every message is emitted.
async function run (library) {
  const info = await library.info()
  emit('session', field(info, 'resp'), field(info, 'user'))

  await library.subscribe(['news', 'weather'])
  await library.psubscribe('n*')
  if (steps.includes('shard')) await library.ssubscribe('orders')

  const publish = async (channel, p) => emit('publish', channel, await library.publish(channel, Buffer.from(p)))
  await publish('news', 'hello')
  await publish('weather', Uint8Array.from({ length: 256 }, (_, i) => i))
  await publish('news', '')
  await publish('weather', Array.from({ length: 1 << 16 }, (_, i) => String(i).padStart(15, '0') + '\n').join(''))
  await publish('void', 'unheard')
  if (steps.includes('shard')) {
    emit('spublish', 'orders', await library.spublish('orders', Buffer.from('shard')))
    await lines('smessage', 1)
  }
  const numbers = Array.from({ length: 200 }, (_, i) => Buffer.from(String(i)))
  for (const n of await library.publishAll('weather', numbers)) emit('publish', 'weather', n)
  await lines('message', 204)
  await lines('pmessage', 2)

  if (steps.includes('ping')) {
    await library.ping()
    emit('pong')
  }

  await publish('news', 'leave')
  await lines('message', 205)
  await library.unsubscribe('news')
  await publish('news', 'pattern only')
  await lines('pmessage', 4)

  if (steps.includes('reconnect')) {
    const killed = field(await library.subscribers(), 'id')
    emit('killing')
    emit('killed', await library.kill())
    await awaitRenewed(library, killed)
    await publish('weather', 'again')
    await publish('news', 'again')
    await lines('message', 206)
    await lines('pmessage', 5)
  }

  await library.punsubscribe('n*')
  await library.unsubscribe('weather')
  if (steps.includes('shard')) await library.sunsubscribe('orders')
  await publish('weather', 'late')
  emit('done')
  await library.close()
}

module.exports = { server, emit, payload, run }
