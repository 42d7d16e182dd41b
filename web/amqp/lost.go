package amqp

import (
	"errors"
	"time"

	"mayfly/engine"
)

// A link whose session's lock has run out while it only waited stays, with nothing
// to come, until somebody else has the session, by whatever door: clients that
// wait as long as their lock lasts would be told of a failure where there was none
// (sdk-demands 8).

// lapsed tells whether the link ends because of why, but not yet: the lock of its
// session has run out, and it holds nothing. One that an operator has broken
// before its time is told.
func (o *outlet) lapsed(why error) bool {
	return errors.Is(why, engine.ErrSessionLockLost) && o.session.LockedUntil.Passed(engine.At(time.Now())) &&
		o.unsettled == 0 && len(o.queue) == 0 && o.current == nil
}

// succeeded: somebody else has had the session since the link lost it.
func (o *outlet) succeeded() {
	o.fail(asError(&engine.Refusal{Kind: engine.ErrSessionLockLost, Text: engine.SessionLockLostText}))
}
