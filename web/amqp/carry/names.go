package carry

// The annotations of messages that mean something to Service Bus (semantics
// §2.1).
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

	keyLockToken = "x-opt-lock-token" // of the delivery, not the message
)

// brokers tells whether nobody but the broker says what is under this key
// (MSG-1). Senders say it all the same when they send on what they received.
func brokers(key string) bool {
	switch key {
	case keySequenceNumber, keyEnqueuedTime, keyEnqueuedSequenceNumber, keyLockedUntil, keyState, keyPartitionID:
		return true
	default:
		return false
	}
}
