package wire

import (
	"fmt"

	"mayfly/engine/value"
)

// A Condition is the symbol of an error (AMQP 1.0, part 2, 2.8.15 to 2.8.18). Those of
// Service Bus begin with "com.microsoft:" and are in package errorcodes.
type Condition string

// The conditions of AMQP itself.
const (
	CondInternalError         Condition = "amqp:internal-error"
	CondNotFound              Condition = "amqp:not-found"
	CondUnauthorizedAccess    Condition = "amqp:unauthorized-access"
	CondDecodeError           Condition = "amqp:decode-error"
	CondResourceLimitExceeded Condition = "amqp:resource-limit-exceeded"
	CondNotAllowed            Condition = "amqp:not-allowed"
	CondInvalidField          Condition = "amqp:invalid-field"
	CondNotImplemented        Condition = "amqp:not-implemented"
	CondResourceLocked        Condition = "amqp:resource-locked"
	CondPreconditionFailed    Condition = "amqp:precondition-failed"
	CondResourceDeleted       Condition = "amqp:resource-deleted"
	CondIllegalState          Condition = "amqp:illegal-state"
	CondFrameSizeTooSmall     Condition = "amqp:frame-size-too-small"

	CondConnectionForced Condition = "amqp:connection:forced"
	CondFramingError     Condition = "amqp:connection:framing-error"

	CondWindowViolation  Condition = "amqp:session:window-violation"
	CondErrantLink       Condition = "amqp:session:errant-link"
	CondHandleInUse      Condition = "amqp:session:handle-in-use"
	CondUnattachedHandle Condition = "amqp:session:unattached-handle"

	CondDetachForced          Condition = "amqp:link:detach-forced"
	CondTransferLimitExceeded Condition = "amqp:link:transfer-limit-exceeded"
	CondMessageSizeExceeded   Condition = "amqp:link:message-size-exceeded"
	CondStolen                Condition = "amqp:link:stolen"

	CondTransactionUnknownID Condition = "amqp:transaction:unknown-id"
	CondTransactionRollback  Condition = "amqp:transaction:rollback"
	CondTransactionTimeout   Condition = "amqp:transaction:timeout"
)

// A ProtocolError reports invalid bytes. All other errors of this package come from the readers and
// writers that it was given.
//
// Condition is CondDecodeError for bytes that are not AMQP, CondInvalidField for AMQP with a wrong
// or missing field, CondNotImplemented for an unknown described type, CondFramingError for a broken
// frame or protocol header, and CondMessageSizeExceeded or CondFrameSizeTooSmall for messages and
// frames of a wrong size.
type ProtocolError struct {
	Condition Condition
	Text      string // expected and found values, for the peer's log
	Offset    int    // in the parsed bytes; zero at the first byte, and for errors without a position
}

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("%s: %s", e.Condition, e.text())
}

// AMQP returns the error for the peer, in a close, end, detach or rejected.
func (e *ProtocolError) AMQP() *Error {
	return &Error{Condition: e.Condition, Description: e.text()}
}

// text returns Text with the offset, unless that is zero.
func (e *ProtocolError) text() string {
	if e.Offset == 0 {
		return e.Text
	}
	return fmt.Sprintf("%s at byte %d", e.Text, e.Offset)
}

// An Error is an error that a peer sends to the other one (part 2, 2.8.14).
type Error struct {
	Condition   Condition // mandatory
	Description string    // empty is written as null
	Info        value.Properties
}

func (e *Error) append(b []byte) []byte {
	b, at := openComposite(b, CodeError)
	b = appendSymbol(b, string(e.Condition))
	if e.Description == "" {
		b = append(b, codeNull)
	} else {
		b = appendString(b, e.Description)
	}
	b = AppendFields(b, e.Info)
	return closeList(b, at, 3)
}

func (c *cursor) error() *Error {
	f := c.enterComposite(CodeError)
	e := &Error{
		Condition:   Condition(f.needSymbol("condition")),
		Description: f.str("description").Or(""),
		Info:        f.fields("info"),
	}
	f.leave()
	return e
}

// appendError appends e, or null for nil.
func appendError(b []byte, e *Error) []byte {
	if e == nil {
		return append(b, codeNull)
	}
	return e.append(b)
}
