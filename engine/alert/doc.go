// Package alert evaluates alert rules, which notify users while they can still act: a message
// is about to expire, one became a dead letter, a queue is about to delete itself.
// A rule may also act, for instance extend the message's time to live.
//
//	Rule          a condition, where it applies, and an action
//	Rule.Decide   what a rule does about one message, decided in one place
//	Rules         the active rules of a namespace
//	Alert         a notification: at most one per rule and second
//	Rules.Preview what a rule would do now
//
// # Firing once
//
// A rule fires once for a message and its expiry time: after a change of that time, it may
// fire again. A rule's action on a message and the record of it are one commit
// (broker.Broker.ApplyOperations), so that a message is never extended more often than allowed,
// even if the server crashes. A mere notification is recorded before it is sent: after a crash,
// alerts of the last second may be missing, but none is sent twice. Rules learn of dead letters
// and entities from the log: they do not alert about events that they miss while the server is
// down.
//
// Rules use the broker's clock. They read messages in order of expiry
// (engine.Namespace.ExpiringFrom), a slice in each turn, and sleep until the next message is due.
//
// INVARIANT: all rules together have records of at most maxFireRecords messages. When more are
// needed, rules that extend wait, and others may alert twice after a restart.
package alert
