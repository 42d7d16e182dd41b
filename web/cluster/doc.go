// Package cluster forwards requests and connections to the server that owns a namespace,
// where several servers share a store.
//
//	Relay        a server's end: it accepts other servers and connects to them
//	Forwarder    forwards to the owner of one namespace, for as long as that server owns it
//	ClientInfo   what the owner learns about a client of another server
//
// Servers connect to each other with TLS 1.3 on a separate port. Both ends present a key derived
// from a secret in the store and accept no other, so only a server that can read the store can
// forward. The TLS connection carries HTTP, one request at a time, or AMQP, starting with the
// client's open.
//
// INVARIANT: a forwarded request is never forwarded again. If two servers each take the
// other for the owner, the second one answers that it is not the owner.
//
// Nothing is buffered: bodies and frames go through as they arrive, and the owner checks
// the limits.
package cluster
