// Serves a GraphQL subscription through graphql-redis-subscriptions and prints
// what the subscriptions get.
//
// Argument: the name of a version of ioredis in package.json.

'use strict'

const { parse, subscribe, buildSchema } = require('graphql')
const { RedisPubSub } = require('graphql-redis-subscriptions')
const { connect } = require('./connect')
const { emit } = require('./course')

async function main () {
  const publisher = await connect(process.argv[2])
  const subscriber = await connect(process.argv[2])
  const pubsub = new RedisPubSub({ publisher, subscriber })
  const schema = buildSchema('type Query { none: Int } type Subscription { price: Int any: Int }')
  const fields = schema.getSubscriptionType().getFields()
  fields.price.subscribe = () => pubsub.asyncIterator('price')
  fields.any.subscribe = () => pubsub.asyncIterator('p*', { pattern: true })

  const start = async (query) => {
    const results = await subscribe({ schema, document: parse(query) })
    const first = results.next() // it subscribes when it is asked for the first
    return { results, first }
  }
  const price = await start('subscription { price }')
  const any = await start('subscription { any }')
  // awaitSubscriptions waits for the server, which the package does not.
  const awaitSubscriptions = async (channels, patterns) => {
    for (;;) {
      const [, c] = await publisher.pubsub('NUMSUB', 'price')
      if (Number(c) === channels && await publisher.pubsub('NUMPAT') === patterns) return
    }
  }
  await awaitSubscriptions(1, 1)
  await pubsub.publish('price', { price: 1, any: 2 })
  emit('price', JSON.stringify((await price.first).value.data))
  emit('any', JSON.stringify((await any.first).value.data))
  await pubsub.publish('pole', { any: 3 })
  emit('any', JSON.stringify((await any.results.next()).value.data))
  for (let i = 4; i < 9; i++) await pubsub.publish('price', { price: i })
  for (let i = 4; i < 9; i++) emit('price', JSON.stringify((await price.results.next()).value.data))

  await price.results.return()
  await any.results.return()
  await awaitSubscriptions(0, 0)
  emit('done')
  process.exit(0)
}

main()
