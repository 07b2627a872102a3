// Package torture does everything at once: clients subscribe, unsubscribe,
// publish and vanish, in plain text and over TLS, while others kill them,
// change their users and passwords, reload certificates, set limits and look
// at everything there is to look at. It is meant to run under the race
// detector.
//
// Amid all this two witnesses whom nobody touches exchange numbered messages,
// none of which may be missing or out of place. At the end nothing may be left:
// no session, no subscription, no goroutine; and there was no panic.
//
// TORTURE=5m sets how long it lasts.
package torture
