package filter

import (
	"time"

	"mayfly/engine/value"
)

// A Message holds the properties that a filter may read and an action may change. Filters treat an
// empty text as missing.
type Message struct {
	MessageID, CorrelationID, SessionID, ReplyTo, ReplyToSessionID, Label, To, ContentType, PartitionKey, ViaPartitionKey string

	SequenceNumber, EnqueuedSequenceNumber int64 // zero if unknown
	EnqueuedTime                           int64 // milliseconds since 1970; zero if unknown

	TimeToLive       time.Duration // as the sender set it; zero if the sender set none; negative if the message has expired
	ScheduledFor     int64         // milliseconds since 1970; zero if it was not scheduled
	ExpiresAt        int64         // milliseconds since 1970; zero if unknown
	Size             int64         // bytes; zero if unknown
	DeadLetterSource string        // the entity where it became a dead letter before it was forwarded; empty if it did not
	DeliveryCount    int32         // deliveries that failed
	State            int32         // always 0, active, for a message that a rule evaluates

	Properties value.Properties

	// EmptySessionID means that SessionID is set although it is empty, which is a valid id.
	EmptySessionID bool

	// Random is the seed of newid(), together with the message, the filter's text and the
	// position in it: the same inputs give the same ids, so that a step can be repeated. Set a
	// new one for each evaluation of a rule.
	Random uint64
}
