package codec

// The message annotations that Service Bus defines (semantics §2.1).
const (
	keySequenceNumber         = "x-opt-sequence-number"
	keyEnqueuedTime           = "x-opt-enqueued-time"
	keyEnqueuedSequenceNumber = "x-opt-enqueue-sequence-number"
	keyLockedUntil            = "x-opt-locked-until"
	keyState                  = "x-opt-message-state"
	keyPartitionID            = "x-opt-partition-id"
	keyDeadLetterSource       = "x-opt-deadletter-source"

	keyScheduled       = "x-opt-scheduled-enqueue-time"
	keyPartitionKey    = "x-opt-partition-key"
	keyViaPartitionKey = "x-opt-via-partition-key"

	keyDeliveryTime  = "x-opt-delivery-time"  // JMS: in ms since 1970
	keyDeliveryDelay = "x-opt-delivery-delay" // JMS: in ms after the send

	keyLockToken = "x-opt-lock-token" // of the delivery, not of the message
)

// isBrokerAnnotation reports whether only the broker sets this annotation (MSG-1). Clients send it
// too when they forward a received message.
func isBrokerAnnotation(key string) bool {
	switch key {
	case keySequenceNumber, keyEnqueuedTime, keyEnqueuedSequenceNumber, keyLockedUntil, keyState, keyPartitionID:
		return true
	default:
		return false
	}
}
