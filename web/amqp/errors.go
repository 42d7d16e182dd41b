package amqp

import (
	"context"
	"errors"

	"mayfly/engine"
	"mayfly/web/amqp/wire"
)

// Conditions of Service Bus (semantics §16).
const (
	condExists          wire.Condition = "com.microsoft:entity-already-exists"
	condDisabled        wire.Condition = "com.microsoft:entity-disabled"
	condLockLost        wire.Condition = "com.microsoft:message-lock-lost"
	condSessionLockLost wire.Condition = "com.microsoft:session-lock-lost"
	condSessionLocked   wire.Condition = "com.microsoft:session-cannot-be-locked"
	condMessageNotFound wire.Condition = "com.microsoft:message-not-found"
	condTimeout         wire.Condition = "com.microsoft:timeout"
	condBusy            wire.Condition = "com.microsoft:server-busy"
	condArgument        wire.Condition = "com.microsoft:argument-error"
	condOutOfRange      wire.Condition = "com.microsoft:argument-out-of-range"
	condCancelled       wire.Condition = "com.microsoft:operation-cancelled"
)

// known is what an error is at this door: its condition, and its status in a
// reply of $management (semantics §16, protocol §4.3). The first that fits wins.
var known = []struct {
	kind      error
	condition wire.Condition
	status    int32
}{
	{engine.ErrRolledBack, wire.CondTransactionRollback, 400}, // before what it was rolled back for
	{engine.ErrFenced, wire.CondConnectionForced, 503},
	{engine.ErrNotFound, wire.CondNotFound, 404},
	{engine.ErrExists, condExists, 409},
	{engine.ErrDisabled, condDisabled, 400},
	{engine.ErrSessionLockLost, condSessionLockLost, 410},
	{engine.ErrSessionLocked, condSessionLocked, 410},
	{engine.ErrLockLost, condLockLost, 410},
	{engine.ErrMessageNotFound, condMessageNotFound, 404},
	{engine.ErrTooLarge, wire.CondMessageSizeExceeded, 403},
	{engine.ErrQuota, wire.CondResourceLimitExceeded, 403},
	{engine.ErrTimeout, condTimeout, 408},
	{engine.ErrBusy, condBusy, 503},
	{engine.ErrTransaction, wire.CondTransactionUnknownID, 400},
	{engine.ErrOutOfRange, condOutOfRange, 400},
	{engine.ErrArgument, condArgument, 400},
	{engine.ErrNotAllowed, wire.CondNotAllowed, 400},
	{engine.ErrNotImplemented, wire.CondNotImplemented, 501},
	{engine.ErrClosed, wire.CondConnectionForced, 503},
	{context.Canceled, condCancelled, 500},
}

// explain is what an error is at this door.
func explain(err error) (e *wire.Error, status int32) {
	if p, ok := errors.AsType[*wire.ProtocolError](err); ok {
		e := p.AMQP()
		return e, 400
	}
	for _, k := range known {
		if errors.Is(err, k.kind) {
			return &wire.Error{Condition: k.condition, Description: err.Error()}, k.status
		}
	}
	return &wire.Error{Condition: wire.CondInternalError, Description: "The server failed; its log says why."}, 500
}

func asError(err error) *wire.Error {
	e, _ := explain(err)
	return e
}

// rejected is how a client hears that its message, or its settlement, was not
// taken.
func rejected(err error) wire.State { return wire.Rejected{Error: asError(err)} }
