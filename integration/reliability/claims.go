package reliability

// A claim is one row of the README's table.
type claim struct {
	key  string // names the figures' file
	says string // what was checked, in the README's words
}

// claims are the rows in the order of the README.
var claims = []claim{
	{"order-tcp", "Order, loss and duplication over TCP: each subscriber sees every message once, in its publisher's order, and all see one order"},
	{"order-memory", "The same over connections in memory"},
	{"linear", "SUBSCRIBE, UNSUBSCRIBE and PUBLISH are linearizable, the receivers of each message included; the checker finds three seeded faults"},
	{"simulation", "Deterministic simulation of shards, inboxes and store against a sequential model, which finds five seeded faults"},
	{"torture", "Subscribing, publishing, killing, and changing users and certificates at once, under the race detector"},
	{"soak", "Soak with churn"},
	{"drain", "SIGTERM under load: what PUBLISH has counted arrives"},
	{"restart", "kill -9 and restart: client libraries subscribe again"},
	{"descriptors", "No descriptors left: who is connected notices nothing"},
	{"slow", "A fifth of the subscribers stop reading"},
	{"eviction", "`maxmemory-clients` with clients that do not read"},
	{"arrivals", "Many connections arrive at once"},
	{"teardown", "The end of a session with very many subscriptions, as others see it"},
	{"half-open", "Clients that vanish without a word"},
	{"recycling", "Descriptors are reused as fast as possible while publishing"},
	{"malformed", "Malformed streams are answered and closed as by redis-server 7.0.15"},
	{"segmentation", "Pipelines cut at random points are answered as uncut ones"},
	{"replies", "Random commands with CR, LF and NUL everywhere: one well-formed reply each"},
	{"pre-auth", "Floods before authentication"},
	{"guessing", "Guessing passwords from one address"},
	{"cross-protocol", "HTTP, TLS and SMTP on the plain port: closed, no command runs"},
}
