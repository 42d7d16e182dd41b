// Package engine is the words and rules of a message broker: queues, topics and
// subscriptions, what may be done with their messages, and what time does to
// them. It is pure: it reads no clock, starts no goroutine and does no I/O, so
// that every rule can be tested at a boundary and a moment to either side of it.
//
//	Path, Entity, Config, Message, Content   what there is, in words
//	Judge, Idle                              what time does, decided in one place each
//	Namespace                                the state; its methods are steps, each all or nothing
//	selector, Rulebook, Plan                 which rules select a message, found out beforehand where that is possible
//	insert, put, drop                        the mutators that every step uses, with before-images
//	Attach, Credit, Match                    receivers are state, because the rules ask for them
//	session, SessionRequest                  messages that one receiver has at a time, under one lock (§12)
//	Seen, saw, remember                      which MessageIds an entity has accepted lately
//	Declare, SendIn, SettleIn, Discharge     several steps that are one, or none
//	Sweep, NextDue                           what is due and nobody asks for: forwarding, idle entities, what others wait for
//	Nearing, Vigil                           messages some time before their time runs out
//	Setting                                  what it keeps for others: views, rules, jobs
//	forward, SendVia                         messages on their way from one entity to another
//	Flush, Seal, Rollback, Restore           steps leave as one batch; the store decides nothing
//
// Rules carry the ids of the specification (TTL-5, DEF-9).
//
// # Invariants
//
// Check rebuilds everything below from the records and compares; tests call it
// after each step.
//
// INVARIANT: an entity is found by its folded path, its places by their ids,
// and a subscription through its topic, in the order of paths; queues and topics
// are counted.
//
// INVARIANT: what a topic's selector has, and the rulebook of it, follows from
// its subscriptions' rules.
//
// INVARIANT: a place's terms follow from its entity's description and its
// topic's.
//
// INVARIANT: order, ready bits, lists apart, counts and bytes of a place are a
// function of its messages; bytes are summed at the root entity.
//
// INVARIANT: where sessions are required, they are a function of the messages,
// of locks and of states; one that has none of these is not there. The last message
// that is locked in a session has the end of its lock.
//
// INVARIANT: available sessions stand in line by their ranks, locked ones in a heap by their
// ends, and all of them in the order of their ids.
//
// INVARIANT: a message has one alarm, where its terms want it, in the set of its
// kind; after a change of terms, those not yet gone over may be elsewhere.
//
// INVARIANT: NextSeq is above every number in the place and in its dead-letter
// queues.
//
// INVARIANT: a topic holds scheduled messages alone, a dead-letter queue dead
// letters alone, and no scheduled message is locked.
//
// INVARIANT: dead letters that stay where they are in spite of forwarding are in
// dead-letter queues. The ready ones among them, and those that their destination
// does not take as it is, are held apart from what else is ready, and the latter
// are counted.
//
// INVARIANT: every key leads to the message that has it; besides those in places
// there are only those of deleted places that have not been let go.
//
// INVARIANT: something is known only of locks that there are.
//
// INVARIANT: a content counts the messages that refer to it, and the open
// transactions that keep it.
//
// INVARIANT: an entity remembers MessageIds exactly if it detects duplicates, in
// generations that are in order, none of them empty; what of it the store has
// not heard of waits for it.
//
// INVARIANT: every transaction is to be ended, at a time that is set and the
// soonest first; what transactions send, settle and keep is counted.
//
// INVARIANT: a link is at the place it names, in the lines it belongs to; links are
// counted at the root entity, those with credit or that wait for a session at their
// entity and its topic.
//
// INVARIANT: the namespace's access rules are in the order of their names, no two
// of them the same.
//
// INVARIANT: a setting is found by its key, the bytes of all are counted, and
// their order, where it is known, is that of the keys.
//
// INVARIANT: a place with a ready message and a link with credit is hungry.
//
// INVARIANT: a link has the session that has it; one that waits for a session
// stands in line once; and where a link could get a session or a message, the
// place is hungry and the session is to be fed.
//
// INVARIANT: a place with something due, or to be forwarded, is in turn, or in the heap where its next
// alarm wants it; an entity's idle alarm is never late.
//
// INVARIANT: a message that the store does not have in this form is dirty and
// waits for it, a dropped one is named, its content is stored or on the way, and
// a batch names no identity twice. That what the store has, changed by a batch,
// is what is here, engine/enginetest shows.
//
// # Not applicable
//
// Rules that no test names, and why. TestTraceability reads this list, and
// prints which tests name the others.
//
//   - PEEK-11: there is one partition (SEQ-2).
package engine
