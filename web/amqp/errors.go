package amqp

import (
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// Conditions that this package tells from others.
const (
	condBusy wire.Condition = "com.microsoft:server-busy"
)

func asError(err error) *wire.Error {
	e, _ := carry.Told(err)
	return e
}

// rejected is how a client hears that its message, or its settlement, was not
// taken.
func rejected(err error) wire.State { return wire.Rejected{Error: asError(err)} }
