package amqp

import (
	"mayfly/engine/broker"
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// readMessages is what a client has sent in one delivery: a message, or a batch.
func readMessages(format uint32, b []byte) ([]broker.Outgoing, error) {
	if err := readable(format); err != nil {
		return nil, err
	}
	if format == wire.FormatBatch {
		return carry.Batch(b) //nolint:wrapcheck // it says what it is about
	}
	m, err := carry.Incoming(b)
	if err != nil {
		return nil, err //nolint:wrapcheck // likewise
	}
	return []broker.Outgoing{m}, nil
}
