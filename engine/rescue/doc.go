// Package rescue has rules that somebody is told by before it is too late: a message
// is about to run out, one became a dead letter, a queue is about to delete itself.
// A rule may do something about it too, give the message more time for instance.
//
//	Rule          what is waited for, where, and what is done then
//	Rule.Judge    what a rule does about one message, decided in one place
//	Rules         those of a namespace, at work
//	Alert         what was told: one for a rule and second at the most
//	Rules.Foresee what a rule would do now
//
// # Once
//
// A rule fires once for a message and the time at which it runs out: when somebody
// gives the message another time, it may fire again. What a rule has done to a
// message and that it has are one commit (broker.DoEach), so that a message is
// never extended more often than it should, whatever happens to the server. That
// somebody was only told is written down before it is told: alerts of the last
// second before a crash may be missing, none comes twice. What happened to dead
// letters and to entities is learnt from the log: while the server is away nobody
// is told.
//
// Rules go by the broker's clock and its order of expiry (engine.Namespace.Nearing),
// a slice of messages in a turn, and sleep until the next is near.
//
// INVARIANT: what a rule remembers of messages is at most marksMost of them, over
// all rules; when there are more, rules that extend wait, and others may tell twice
// after a restart.
package rescue
