// Package job does one thing to many messages of a namespace, in the background:
// to those that were chosen, or to all that match a query.
//
//	Plan              what is to be done, and to which messages
//	Jobs              those of a namespace: two run at once, others wait, the latest hundred are kept
//	Job               one, as far as it has come
//	Jobs.Foresee      what a plan would do
//	Jobs.Undo         takes back what has not been touched since
//
// A job works in slices of at most 256 messages. What a slice does and how far the
// job has come are one commit (engine/broker.DoEach): after a crash the record tells
// exactly what was done, and a job that is resumed goes on behind it. While the store
// is away or takes no writes a job waits, and goes on from what the store has: nobody
// else may have heard of the last slice. A job whose
// record says that it runs when the namespace is opened was interrupted.
//
// Which messages a query is asked about is fixed at the start, by the numbers that
// the places have given out by then: what comes later is not touched.
package job
