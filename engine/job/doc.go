// Package job does one operation to many messages of a namespace, in the background: to
// chosen messages, or to all that match a query.
//
//	Plan              the operation, and its messages
//	Jobs              those of a namespace: two run at once, others wait, the latest hundred are kept
//	Job               one job and its progress
//	Jobs.Preview      what a plan would do
//	Jobs.Undo         takes back what has not been touched since
//
// A job works in slices of at most 256 messages. A slice's operations and the job's
// progress are one commit (broker.Broker.ApplyOperations): after a crash the record shows
// exactly what was done, and a resumed job goes on behind it. While the store is away or takes
// no writes a job waits, and goes on from the store's record, since the last slice may have been
// stored without an answer. A job whose record says that it runs when the namespace is opened
// was interrupted.
//
// The messages that a query is matched against are fixed at the start, by the last numbers
// in their subqueues: later messages are not touched.
package job
