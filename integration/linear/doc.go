// Package linear checks that SUBSCRIBE, UNSUBSCRIBE and PUBLISH are
// linearizable: that each takes effect at one moment between its being sent
// and its being answered, the receivers of a message being those who were
// subscribed at that moment.
//
// Clients run random commands one by one, all against the same few channels,
// and note when each began and ended. What PUBLISH returns counts as both the
// number it was answered and the set of clients that the message reached,
// collected afterwards. The checker of
// github.com/anishathalye/porcupine then looks for an order of the commands
// that explains every result. One model per channel: the set of its
// subscribers.
//
// That the checker finds anything is tested on a store of the test's own, into
// which three faults can be put.
//
// It does not test order of delivery; see integration/ordering.
package linear
