package errorcodes

import "mayfly/web/amqp/wire"

// The AMQP conditions of Service Bus (semantics §16). Those of AMQP itself are in package wire.
const (
	CondMessageLockLost       wire.Condition = "com.microsoft:message-lock-lost"
	CondSessionLockLost       wire.Condition = "com.microsoft:session-lock-lost"
	CondSessionCannotBeLocked wire.Condition = "com.microsoft:session-cannot-be-locked"
	CondMessageNotFound       wire.Condition = "com.microsoft:message-not-found"
	CondEntityExists          wire.Condition = "com.microsoft:entity-already-exists"
	CondEntityDisabled        wire.Condition = "com.microsoft:entity-disabled"
	CondArgument              wire.Condition = "com.microsoft:argument-error"
	CondOutOfRange            wire.Condition = "com.microsoft:argument-out-of-range"
	CondTimeout               wire.Condition = "com.microsoft:timeout"
	CondServerBusy            wire.Condition = "com.microsoft:server-busy"
	CondCancelled             wire.Condition = "com.microsoft:operation-cancelled"
)
