// Package codec converts messages between AMQP and the engine. Fields of an [engine.Content] hold
// the parts that the engine uses and that people see. Everything else that a sender may set, even
// whether a text was empty or absent, is kept in Content.Wire, so that a message is delivered as it
// was sent (semantics §2.1, MSG-2).
//
// # In
//
// [DecodeMessage] decodes one message, [DecodeBatch] the messages of an envelope, [DecodeScheduled] those
// of a request to schedule messages, and [DecodeStream] one whose data is still arriving. They
// ignore properties that only the broker sets (MSG-1). Their results share no memory with
// their input.
//
// # Out
//
// An [Envelope] is the encoding around a body: [Envelope.EncodeDelivery] for a message that is
// delivered, in either mode or by its sequence number, and [Envelope.EncodePeeked] for one that is
// peeked.
//
// # Errors
//
// All errors about messages are *engine.Refusal or *wire.ProtocolError. [AMQPError] returns
// the AMQP error for them, and for all errors of a broker.
package codec
