// Package alert evaluates alert rules, which notify someone before it is too late: a
// message is about to expire, one became a dead letter, a queue is about to delete itself.
// A rule may also act, for instance extend the message's time to live.
//
//	Rule          a condition, where it applies, and an action
//	Rule.Decide   what a rule does about one message, decided in one place
//	Rules         the active rules of a namespace
//	Alert         a notification: at most one per rule and second
//	Rules.Preview what a rule would do now
//
// # Once
//
// A rule fires once for a message and its expiry time: after a change of that time, it may
// fire again. A rule's action on a message and the record of it are one commit
// (broker.Broker.ApplyOperations), so that a message is never extended more often than allowed,
// whatever happens to the server. A mere notification is recorded before it is sent: alerts of
// the last second before a crash may be missing, none comes twice. Rules learn of dead letters
// and entities from the log: they do not alert about events while the server is away.
//
// Rules use the broker's clock and its order of expiry (engine.Namespace.ExpiringFrom), a slice
// of messages in a turn, and sleep until the next message is near.
//
// INVARIANT: all rules together remember at most maxFireRecords messages. When there are more,
// rules that extend wait, and others may alert twice after a restart.
package alert
