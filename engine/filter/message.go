package filter

import (
	"time"

	"mayfly/engine/value"
)

// A Message is what a filter may read and an action may change. Filters treat an empty text as
// missing.
type Message struct {
	MessageID, CorrelationID, SessionID, ReplyTo, ReplyToSessionID, Label, To, ContentType, PartitionKey, ViaPartitionKey string

	SequenceNumber, EnqueuedSequenceNumber int64 // zero if unknown
	EnqueuedTime                           int64 // milliseconds since 1970; zero if unknown

	TimeToLive       time.Duration // as the sender set it; zero if it set none; negative if it is over
	ScheduledFor     int64         // milliseconds since 1970; zero if it was not scheduled
	ExpiresAt        int64         // milliseconds since 1970; zero if unknown
	Size             int64         // bytes; zero if unknown
	DeadLetterSource string        // where it became a dead letter before it was forwarded; empty if it did not
	DeliveryCount    int32         // deliveries that failed
	State            int32         // a message that a rule judges is active, which is 0

	Properties value.Properties

	// EmptySessionID means that an empty SessionID is set: it is an id like others.
	EmptySessionID bool

	// Random is the seed of newid(), together with the message, the text and the position in
	// it: the same inputs give the same ids, so that a step can be repeated. Set another one
	// for each rule, each time.
	Random uint64
}
