// Package dashboard opens the broker's page in a real browser: it updates while
// messages are published, filters, tails a channel, publishes, closes a session
// after a question, tells what a user may not do, and shows what others publish
// as text.
//
// The browser is Debian's chromium, driven by playwright-core (see
// integration/clients/programs/node). Screenshots go to the folder that
// SCREENSHOTS names.
package dashboard
