// Package wire encodes and decodes the bytes of AMQP 1.0, for a server that speaks it the way Azure
// Service Bus does: types, frames, performatives, SASL, the sections of messages, and the bodies
// that declare and discharge transactions. It keeps no state of connections, sessions or links,
// starts no goroutine, and does I/O only through the readers and writers that it is given. The
// comments name parts and sections of the OASIS specification.
//
// # Frames
//
// A [Reader] reads protocol headers and frames; [Frame.IsHeartbeat] reports the empty ones.
// A performative is decoded by the Decode method of its type, which [CodeOf] returns, or
// by [Decode], which makes a new value each time. [AppendFrame] appends a frame to a
// buffer, so that many leave in one write; a [Splitter] does it for messages that need
// several frames.
//
// Decoding is lenient where clients differ: fields may be null or omitted at the end, descriptors
// may be symbols, a field of several symbols may be a single symbol or an array, and strings and
// symbols are interchangeable. Otherwise it is strict: mandatory fields must be present, unknown
// fields must not, and a compound must end where its size says. Encoding is the same for every
// peer, because some peers read fields by their position: every field is written, absent ones as
// null; descriptors are smallulongs; a field of several symbols is an array even if it has only
// one.
//
// # Messages
//
// [Message.Decode] finds the sections of an encoded message, and a [Scanner] those of a
// message that arrives in pieces, whose data it passes on. [Header] and [Properties]
// decode their sections, [ParseMap] those that are maps, and [ParseList], [ParseArray]
// and [ParseDescribed] the contents of values. To encode a message, append
// [Header.Append], [AppendAnnotations], [Properties.Append], then [AppendDataHeader] and
// the bytes of the body, which need not be in the same buffer, or [AppendSection] for an
// encoded section.
//
// Keys of annotations are symbols, those of application properties strings; either is
// accepted for the other. Other keys, such as the reserved ulongs of annotations, are
// refused with CondInvalidField, because stored messages have no room for them. A key
// that occurs twice is kept twice.
//
// # Guarantees
//
// Any input is decoded without a panic, in time linear in its length times [MaxDepth],
// and without an allocation larger than a small multiple of the bytes that have arrived:
// sizes and counts are first compared with the bytes present. Values nested more than
// MaxDepth deep are refused, and so are arrays of more than 256 elements without bytes.
// Every error about bytes is a [*ProtocolError], which has the condition for the peer.
//
// Decoded values share no memory with the input, except [Frame.Body], the DeliveryTag and
// Payload of a [Transfer], the slices of a [Message] and what [Body] and [Message.Batch]
// return of them. The strings of one performative, section or map are parts of one copy
// of it, which lives as long as any of them. Encoding keeps no reference to its input.
// Several goroutines may use a value as long as none changes it.
package wire
