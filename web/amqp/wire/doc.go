// Package wire is all of AMQP 1.0 that is bytes, for a server that speaks it the
// way Azure Service Bus does: types, frames, performatives, SASL, the sections of
// messages, and what transactions are declared with. It knows nothing of the
// state of connections, sessions and links, starts no goroutine, and does no I/O
// but through the readers and writers it is given. The comments name parts and
// sections of the OASIS specification.
//
// # Frames
//
// A [Reader] reads protocol headers and frames; [Frame.Heartbeat] tells the empty
// ones. A performative is read by the Decode of its type, which [CodeOf] names,
// or by [Decode], which makes a new one each time. [AppendFrame] appends a frame
// to a buffer, so that many leave in one write; a [Splitter] does it for messages
// that need several.
//
// Reading is lenient where clients differ: fields may be null or left out at the
// end, descriptors may be symbols, several symbols may be one or an array,
// strings and symbols are taken for each other. Beyond that it is strict:
// mandatory fields must be there, fields that the type does not have must not,
// and a compound ends where its size says. Writing is the same for every peer,
// for some read fields by their place: every field is there, absent ones as null;
// descriptors are smallulongs; several symbols are an array even when they are
// one.
//
// # Messages
//
// [Message.Decode] finds the sections of an encoded message, a [Scanner] those of
// one that arrives in pieces, whose data it passes on. [Header] and [Properties]
// decode their sections; [ParseMap] those that are maps, [ParseList],
// [ParseArray] and [ParseDescribed] what is within values.
// To write a message append [Header.Append], [AppendAnnotations],
// [Properties.Append], then [AppendDataHead] and the bytes of the body, which
// need not be in the same buffer, or [AppendSection] for what is encoded already.
//
// Keys of annotations are symbols, those of application properties strings; each
// is taken for the other. Other keys, such as the reserved ulongs of annotations,
// are refused with CondInvalidField: nothing that stores messages has room for
// them. A key that occurs twice is kept twice.
//
// # What is guaranteed
//
// Any input is read without a panic, in time linear in its length times
// [MaxDepth], and without an allocation larger than a small multiple of what has
// arrived: sizes and counts are compared with the bytes there are first. Values
// nested more than MaxDepth deep and arrays of more than 256 elements that take
// no bytes are refused. Every error about bytes is a [*ProtocolError], which has
// the condition to tell the peer.
//
// What is decoded shares no memory with the input, but for [Frame.Body], the
// DeliveryTag and Payload of a [Transfer], the slices of a [Message] and what
// [Body] and [Message.Batch] take from them. The strings of one performative,
// section or map are parts of one copy of it, which lives as long as any of them.
// Nothing is kept of what is written.
// Values may be used by several goroutines as long as none changes them.
package wire
