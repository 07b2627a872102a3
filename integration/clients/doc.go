// Package clients drives the broker with programs that others wrote: Redis's
// own redis-cli and redis-benchmark, and client libraries of seven languages.
//
// They send what no test of ours would think of before and between the
// commands that matter, and they are what the broker is for. Every test runs
// against redis-server too, which proves the test.
//
// # The course
//
// Each library has a small program under programs/ that runs one course. Its
// environment says what to do: BROKER_HOST and BROKER_PORT; BROKER_PROTO, 2 or
// 3; BROKER_USER, BROKER_PASSWORD and BROKER_CA, the file of a certificate
// authority, when the connections are to use them; BROKER_STEPS, the optional
// steps, which are "shard", "ping" and "reconnect". The program prints one line
// for each thing that its library told it, first a word for the kind:
//
//	session resp user           what CLIENT INFO says of the connection that publishes
//	publish channel count       a reply; so is spublish
//	subscribe channel count     an ack, if the library shows it; so are the other five
//	message channel payload     what arrived; so is smessage
//	pmessage pattern channel payload
//	pong                        the answer to PING on the subscribed connection
//	killing                     before CLIENT KILL TYPE pubsub is sent
//	killed count                the reply to it
//	done                        the last line
//
// A payload is printed as its length and its checksum (CRC-32), "5/3610a686".
// The steps: subscribe to news and weather, to the pattern n* [and to the shard
// channel orders]; publish to each, every byte and an empty and a large payload
// among it, then 200 numbers in one pipeline; [PING while subscribed;]
// unsubscribe from news, which the pattern still receives; [have all subscribed
// connections killed and wait until the library has subscribed again;]
// unsubscribe from the rest and publish to nobody. A program waits for what it
// is owed, up to 15 seconds, and says what was missing; anything that its
// library takes for an error ends it with status 1.
//
// A program decides nothing: what it has to print is worked out here, from the
// table of the libraries and what they can do.
//
// # Frameworks
//
// A few more programs reach the server through what others built on pub/sub, and
// print what became of it: Socket.IO's two Redis adapters, GraphQL subscriptions,
// and Laravel's broadcasts, which are a script.
//
// # What must be there
//
// What a library needs must be installed before: a test does not reach for the
// network. Without it the library's test is skipped, and fails where CI is set.
package clients
