package amqp

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// Two operations of $management can be part of a transaction, which their request
// says as any transfer does: to schedule messages and to settle deliveries. The
// others are done at once whatever it says.

// send schedules messages. Those of a transaction have no numbers before it is
// committed (TX-4): they are told as zero.
func (c *call) send(ctx context.Context, out []broker.Outgoing) ([]engine.Seq, error) {
	if c.tx == nil {
		return c.b.Send(ctx, c.path, out, c.client) //nolint:wrapcheck // the broker's
	}
	return make([]engine.Seq, len(out)), c.tx.await(func() error { return c.tx.tx.Send(c.c.s.ctx, c.path, out) })
}

func (c *call) settle(ctx context.Context, all []engine.Settlement) error {
	if c.tx == nil {
		return c.b.SettleAll(ctx, all) //nolint:wrapcheck // the broker's
	}
	return c.tx.await(func() error { return c.tx.tx.SettleAll(c.c.s.ctx, all) })
}
