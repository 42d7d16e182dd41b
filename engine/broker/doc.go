// Package broker runs an engine.Namespace: one goroutine owns the state and
// takes turns. In a turn it applies the operations that have piled up, does some of the
// work that is due, matches messages with receivers, commits all of it once, and only
// then publishes events and answers callers. While one commit runs, the next
// turn's operations gather, so a slow disk makes batches larger, not answers
// wrong.
//
// Every answer to a caller is durable, except locks, their renewals and last uses, which may
// be lost in a crash: then a message is simply unlocked.
//
// An answer that no durable commit confirms (of a read, a refusal, a message under a lock) is
// given only while the store confirms that this broker still owns the namespace. When it does
// not, the broker ends with engine.ErrFenced, and its uncommitted decisions do not count.
//
// When a commit fails and its outcome is unknown, the broker loads everything again from the
// store, as at start. When the store accepts no writes, the broker goes read-only: reads
// continue, changes are refused with engine.ErrBusy and the reason, and the broker recovers by
// itself.
//
// Most methods wait for the answer. SubmitSend and some methods of a Link, which is a long-lived
// receiver that is notified through a Sink, return at once and call a function with the answer
// later. An operation may ask to run again in the next turn, as a drain does while there are
// messages to deliver.
//
// Search reads all messages, a few in each turn, and reads bodies outside the owner.
//
// Events are numbered and published in the Log; if the store is an engine.History too, a
// historyWriter passes them to it in the background.
package broker
