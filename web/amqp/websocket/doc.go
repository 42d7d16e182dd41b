// Package websocket carries AMQP inside a WebSocket: it upgrades a request and turns the
// WebSocket into a net.Conn. SDKs use it at the address [Path] where only port 443 is
// open.
//
// The bytes of AMQP are the payloads of binary messages, one after the other. The ends of WebSocket
// messages are unrelated to those of AMQP frames.
//
// The package does not limit the size of messages. A read takes only as many bytes as fit the
// caller's buffer, however large a message is, and the AMQP server limits the size of frames.
package websocket
