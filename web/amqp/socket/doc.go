// Package socket carries AMQP inside a WebSocket: it upgrades a request and
// makes a net.Conn of what comes of it. SDKs come this way where only port 443
// leads out, at the address [Path].
//
// The bytes of AMQP are the payloads of binary messages, one after the other:
// where a message ends says nothing of where a frame does.
//
// Nothing in here is measured by a limit of its own. A read takes no more than
// the caller has room for, however large a message is, and connections are
// counted by the server that they are given to.
package socket
