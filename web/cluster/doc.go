// Package cluster forwards requests and connections to the server that owns a namespace,
// where several servers share a store.
//
//	Relay        a server's end: it accepts other servers and connects to them
//	Forwarder    leads to the owner of one namespace, as long as that server owns it
//	ClientInfo   what the owner learns about a client of another server
//
// Servers speak TLS 1.3 with each other, on a port of its own. Both ends show a key
// derived from the secret that the store keeps for them, and accept no other: only a
// server that can read the store can forward. Inside TLS is HTTP, a request at a time, or
// AMQP from the client's open on.
//
// INVARIANT: a forwarded request is never forwarded again. If two servers each take the
// other for the owner, the second one answers that it is not the owner.
//
// Nothing is buffered: bodies and frames go through as they arrive, and the owner checks
// the limits.
package cluster
