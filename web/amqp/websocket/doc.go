// Package websocket carries AMQP inside a WebSocket: it upgrades a request and turns the
// WebSocket into a net.Conn. SDKs use it at the address [Path] where only port 443 is
// open.
//
// The bytes of AMQP are the payloads of binary messages, one after the other. Ends of
// messages are unrelated to ends of frames.
//
// The package has no limits of its own. A read takes only as many bytes as fit the
// caller's buffer, however large a message is, and the server that serves the connections
// counts them.
package websocket
