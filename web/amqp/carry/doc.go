// Package carry takes messages from AMQP's bytes to the engine and back. What
// the engine and people care for goes into the fields of an [engine.Content] and
// comes from there; everything else that a sender may say, down to whether a text
// was empty or absent, is kept beside them in Content.Wire, so that a message
// comes out as it went in (semantics §2.1, MSG-2).
//
// # In
//
// [Incoming] reads one message, [Batch] the messages of an envelope, [Scheduled]
// those of a request to schedule some, and [Begin] one whose data is still on its
// way. What the broker itself says of messages is left out of what a sender says
// (MSG-1). What they return shares no memory with what they were given.
//
// # Out
//
// An [Envelope] is what goes around a body: [Envelope.Delivery] for a message
// that was handed out, in either mode or by its number, and [Envelope.Peek] for
// one that is looked at.
//
// # Errors
//
// All errors about messages are *engine.Refusal or *wire.ProtocolError; [Told]
// says what a peer is told of them, and of all that a broker returns.
package carry
