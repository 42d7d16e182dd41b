// Package relay passes on what is asked of a server that does not own a namespace to
// the one that does, where several servers share a store.
//
//	Relay    a server's part in it: it lets other servers in, and leads to them
//	Line     leads to the owner of one namespace, for as long as that owns it
//	Passed   what is told of a client that comes by way of another server
//
// Servers speak TLS 1.3 with each other, on a port that is for nobody else. Both ends
// show a key that is made of the secret which the store keeps for them, and take no
// other: who can read the store can pass on, and nobody else. Over it goes HTTP, a
// request at a time, or AMQP from a client's open on.
//
// INVARIANT: what came by way of another server is never passed on again. Of two
// servers that each take the other for the owner, the second says that it is not.
//
// Nothing is kept of what is passed on: bodies and frames go through as they come, and
// limits are the owner's to check.
package relay
