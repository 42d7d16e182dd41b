// Package amqp serves AMQP 1.0 in the dialect of Azure Service Bus, so that its SDKs
// connect unchanged.
//
// A [Server] serves connections to brokers, with a [Namespace] for each namespace. A
// connection has two goroutines. The reader decodes frames, changes the state of sessions
// and links and submits work to the broker. The writer takes the broker's answers and
// deliveries, and is the only one to write frames. The broker reaches a connection
// through its mailbox, a list with a lock of its own, so that the goroutine that serves
// the whole namespace never waits for a connection.
//
// INVARIANT: a connection's state is guarded by its mutex. No goroutine holds the mutex
// while it waits for the broker, the network or a store.
//
// Work that cannot be done at once is postponed in one of two ways. Work after unlocking
// (conn.queueReaderWork, conn.queueWriterWork) is queued under the mutex, and the reader or the
// writer calls it after it has released the mutex: the reader's in the order of the frames that
// caused it, the writer's after the frames that are ready. Work that takes longer runs in the
// background, in a workQueue where order matters. Mail (conn.mail) passes events from the broker
// and from other goroutines to the connection: the writer handles it with the mutex held.
//
// INVARIANT: a client's detach, end or close is answered when the broker has ended its links, so
// that their sessions and messages are free for the next client. After that answer, no frame is
// sent on that link, channel or connection. Deliveries that were not written completely are
// returned to the broker without being counted.
//
// The memory of a connection is bounded: by the sizes of frames, which are checked before
// anything is allocated; by Limits on sessions, links and unsettled deliveries; by the
// window of each link; by the room for replies, which are counted before they are made;
// and by the broker's room for operations, for which the reader waits before it
// continues.
package amqp
