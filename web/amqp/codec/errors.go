package codec

import (
	"errors"

	"mayfly/web/amqp/wire"
	"mayfly/web/errorcodes"
)

// AMQPError returns the AMQP error for err, for a rejected, detach or close, and the status of a
// response of $management, from the table of package errorcodes. Internal errors get a general
// text, because their details are only logged. The texts have no TrackingId yet (ERR-5).
func AMQPError(err error) (e *wire.Error, status int32) {
	if p, ok := errors.AsType[*wire.ProtocolError](err); ok && !errors.Is(err, errCorrupt) {
		if p.Condition == wire.CondMessageSizeExceeded {
			return p.AMQP(), 403
		}
		return p.AMQP(), 400
	}
	cond, status := errorcodes.AMQP(err)
	if cond == wire.CondInternalError {
		return &wire.Error{Condition: cond, Description: "The server failed. See its log for the reason."}, status
	}
	return &wire.Error{Condition: cond, Description: err.Error()}, status
}

// IsInternal reports whether err is an internal error of the server, whose details are only
// logged.
func IsInternal(err error) bool {
	e, _ := AMQPError(err)
	return e.Condition == wire.CondInternalError
}
