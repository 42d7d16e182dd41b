// Package job applies one operation to many messages of a namespace, in the background: to
// selected messages, or to all that match a query.
//
//	Plan              the operation, and its messages
//	Jobs              the jobs of a namespace: two run at once, others wait, the latest hundred are kept
//	Job               one job and its progress
//	Jobs.Preview      what a plan would do
//	Jobs.Undo         undoes a job, except for messages that were changed since
//
// A job works in slices of at most 256 messages. A slice's operations and the job's
// progress are one commit (broker.Broker.ApplyOperations): after a crash the record shows
// exactly what was done, and a resumed job continues from there. While the store is unavailable
// or accepts no writes, a job waits, and then continues from the stored record, since the last
// slice may have been stored although the store did not answer. A job whose record says that it
// runs when the namespace is opened was interrupted.
//
// The messages that a query is matched against are fixed at the start, by the last sequence
// numbers in their subqueues: later messages are not touched.
package job
