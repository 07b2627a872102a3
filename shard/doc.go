// Package shard holds the event loops: the sessions, what they are subscribed
// to, and the delivery of messages to their sockets.
//
// A Group owns one centralised store and a fixed number of Loops. Each Loop
// is one goroutine (with the epoll driver: locked to its own thread) that
// owns a set of Sessions; everything a Session holds is touched by that
// goroutine only (invariant one-loop). Other goroutines reach a loop through
// its inbox.
//
// A turn of a loop:
//
//  1. wait for sockets; take the own inbox and deliver
//  2. read each ready session once and run its complete commands; PUBLISH
//     appends to the loop's batch
//  3. hand the batch over: one push per shard that holds a receiver, at most
//     one wake-up each; take the own inbox and deliver
//  4. flush every session that has something to say, once
//
// Replies leave in step 4, so a PUBLISH is answered only after its message is
// in every receiving inbox (invariant causal).
//
// The package does not know command names: a complete command goes to
// Config.Handle, which calls back into the Session. It does not know
// configuration files, users or metrics either; it counts, and others print.
//
// Methods of Session and Loop may be called on the loop's goroutine only, that
// is from Handle, from a Gather callback or from Group.Each. Methods of Group
// may be called from any goroutine.
package shard
