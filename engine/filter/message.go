package filter

import "mayfly/engine/value"

// A Message is what a filter may see and an action may change. An empty text is
// one that is not set, which filters take for missing.
type Message struct {
	MessageID, CorrelationID, SessionID, ReplyTo, ReplyToSessionID, Label, To, ContentType, PartitionKey string

	SequenceNumber, EnqueuedSequenceNumber int64 // zero: not known
	EnqueuedTime                           int64 // milliseconds since 1970; zero: not known

	Properties value.Properties

	// EmptySessionID says that an empty SessionID is set: it is an id like others.
	EmptySessionID bool

	// Random is what newid() is made of, together with the message, the text
	// and the place in it: the same again gives the same ids, so that a step
	// can be repeated. Give another for each rule, each time.
	Random uint64
}
