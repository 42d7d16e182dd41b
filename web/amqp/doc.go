// Package amqp is the door for AMQP 1.0 in the dialect of Azure Service Bus: its
// SDKs connect to it unchanged.
//
// A [Server] serves connections to brokers, a [Space] for each. A connection has two goroutines: a reader,
// which decodes frames, changes the state of sessions and links and hands work
// to the broker; and a writer, which takes what the broker answers and delivers
// and is alone in writing frames. The broker tells a connection things through
// its mailbox, a list with a lock of its own, so that the goroutine which serves
// the whole namespace never waits for a connection.
//
// INVARIANT: a connection's state is guarded by its mutex, which nobody holds
// while waiting: not for the broker, the network or a store. Work for the broker
// is noted under the mutex and submitted by the reader after it has let go, in
// the order of the frames that asked for it.
//
// INVARIANT: a detach, end or close of the client's is answered when the broker has
// ended its links, so that what they held is free for whoever asks next; and once
// it is, nothing more is said on that link, channel or connection. What was
// delivered and not written whole goes back without a count.
//
// How much a connection can take of memory is bounded: by the frames it may
// send (sizes are checked before anything is allocated), by Limits on sessions,
// links and unsettled deliveries, by the window of each link, by the room for
// answers, which are counted before they are made, and by the broker's room for
// operations, for which the reader waits before it reads on.
package amqp
