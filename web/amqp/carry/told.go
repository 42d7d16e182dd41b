package carry

import (
	"context"
	"errors"
	"fmt"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

// The conditions of Service Bus (semantics §16).
const (
	CondMessageLockLost     wire.Condition = "com.microsoft:message-lock-lost"
	CondSessionLockLost     wire.Condition = "com.microsoft:session-lock-lost"
	CondSessionCannotLocked wire.Condition = "com.microsoft:session-cannot-be-locked"
	CondMessageNotFound     wire.Condition = "com.microsoft:message-not-found"
	CondEntityExists        wire.Condition = "com.microsoft:entity-already-exists"
	CondEntityDisabled      wire.Condition = "com.microsoft:entity-disabled"
	CondArgument            wire.Condition = "com.microsoft:argument-error"
	CondOutOfRange          wire.Condition = "com.microsoft:argument-out-of-range"
	CondTimeout             wire.Condition = "com.microsoft:timeout"
	CondServerBusy          wire.Condition = "com.microsoft:server-busy"
	CondCancelled           wire.Condition = "com.microsoft:operation-cancelled"
)

// Told is what a peer is told of an error: in a rejected, detach or close, or by
// its status, condition and text in an answer of $management. What went wrong
// inside is not told (Internal): that is for the log. The texts have no
// TrackingId yet (ERR-5).
func Told(err error) (e *wire.Error, status int32) {
	if p, ok := errors.AsType[*wire.ProtocolError](err); ok && !errors.Is(err, errStored) {
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
		{engine.ErrRolledBack, wire.CondTransactionRollback, 400}, // whatever it was that failed
		{engine.ErrNotFound, wire.CondNotFound, 404},
		{engine.ErrExists, CondEntityExists, 409},
		{engine.ErrDisabled, CondEntityDisabled, 400},
		{engine.ErrLockLost, CondMessageLockLost, 410},
		{engine.ErrSessionLockLost, CondSessionLockLost, 410},
		{engine.ErrSessionLocked, CondSessionCannotLocked, 410},
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
		{engine.ErrClosed, CondServerBusy, 503}, // whoever tries again finds who took over
		{context.DeadlineExceeded, CondTimeout, 408},
		{context.Canceled, CondCancelled, 503},
	} {
		if errors.Is(err, known.kind) {
			return &wire.Error{Condition: known.cond, Description: err.Error()}, known.status
		}
	}
	return &wire.Error{Condition: wire.CondInternalError, Description: "The server failed. Its log says why."}, 500
}

// Internal tells whether an error is one of the server's own, which nobody but
// its log is told of.
func Internal(err error) bool {
	e, _ := Told(err)
	return e.Condition == wire.CondInternalError
}

func argument(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrArgument, SubCode: 40000, Text: fmt.Sprintf(format, args...)}
}

func outOfRange(format string, args ...any) error {
	return &engine.Refusal{Kind: engine.ErrOutOfRange, SubCode: 40000, Text: fmt.Sprintf(format, args...)}
}
