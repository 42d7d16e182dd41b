package codec

import (
	"context"
	"errors"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

// The conditions of Service Bus (semantics §16).
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

// AMQPError returns the AMQP error for err, for a rejected, detach or close, and the status of
// a response of $management. Internal errors become a general text, because their details
// are for the log. The texts have no TrackingId yet (ERR-5).
func AMQPError(err error) (e *wire.Error, status int32) {
	if p, ok := errors.AsType[*wire.ProtocolError](err); ok && !errors.Is(err, errCorrupt) {
		if p.Condition == wire.CondMessageSizeExceeded {
			return p.AMQP(), 403
		}
		return p.AMQP(), 400
	}
	for _, known := range [...]struct {
		kind   error
		cond   wire.Condition
		status int32
	}{
		{engine.ErrRolledBack, wire.CondTransactionRollback, 400}, // whatever error caused the rollback
		{engine.ErrNotFound, wire.CondNotFound, 404},
		{engine.ErrExists, CondEntityExists, 409},
		{engine.ErrDisabled, CondEntityDisabled, 400},
		{engine.ErrLockLost, CondMessageLockLost, 410},
		{engine.ErrSessionLockLost, CondSessionLockLost, 410},
		{engine.ErrSessionLocked, CondSessionCannotBeLocked, 410},
		{engine.ErrMessageNotFound, CondMessageNotFound, 404},
		{engine.ErrTooLarge, wire.CondMessageSizeExceeded, 403},
		{engine.ErrQuota, wire.CondResourceLimitExceeded, 403},
		{engine.ErrChanged, wire.CondPreconditionFailed, 409},
		{engine.ErrNotAllowed, wire.CondNotAllowed, 400},
		{engine.ErrArgument, CondArgument, 400},
		{engine.ErrOutOfRange, CondOutOfRange, 400},
		{engine.ErrTransaction, wire.CondTransactionUnknownID, 400},
		{engine.ErrNotImplemented, wire.CondNotImplemented, 501},
		{engine.ErrTimeout, CondTimeout, 408},
		{engine.ErrBusy, CondServerBusy, 503},
		{engine.ErrClosed, CondServerBusy, 503}, // a client that tries again finds the new owner
		{context.DeadlineExceeded, CondTimeout, 408},
		{context.Canceled, CondCancelled, 503},
	} {
		if errors.Is(err, known.kind) {
			return &wire.Error{Condition: known.cond, Description: err.Error()}, known.status
		}
	}
	return &wire.Error{Condition: wire.CondInternalError, Description: "The server failed. See its log for the reason."}, 500
}

// IsInternal reports whether err is an internal error of the server, whose details are only
// logged.
func IsInternal(err error) bool {
	e, _ := AMQPError(err)
	return e.Condition == wire.CondInternalError
}
