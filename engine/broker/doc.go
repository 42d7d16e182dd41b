// Package broker runs an engine.Namespace: one goroutine owns the state and
// takes turns. In a turn it applies the operations that have piled up, sweeps
// a slice of what is due, matches messages with receivers, commits all of it
// once, and only then publishes and answers. While one commit runs, the next
// turn's operations gather, so a slow disk makes batches larger, not answers
// wrong.
//
// Everything a caller is told is durable, but for locks, their renewals and
// last uses, which may be lost in a crash: then a message is simply free again.
//
// What a durable commit did not confirm, a look, a refusal or a message under a
// lock, is told only while the store says that the namespace is still ours.
// When it is not, the broker ends with engine.ErrFenced and what it had decided
// is not so.
//
// When a commit fails without anybody knowing what the store has, the broker
// loads everything again from the store, the same way as at start. When the
// store says that it cannot take writes, the broker goes read-only: looking
// goes on, changes are answered with engine.ErrBusy and the reason, and it
// recovers by itself.
//
// Callers wait for their answers, or hand in a function that is called with them
// and go on: SubmitSend and the methods of a Link, which is a receiver that stays
// and is told by way of a Sink. An operation may say that it is to come again in
// the next turn, as a drain does while there is something left to deliver.
//
// A Search goes through all there is a few messages in a turn, and reads bodies
// beside the owner.
//
// What happened is numbered and published in the Log; a store that is an
// engine.History too is given it by a follower, behind everybody's back.
package broker
