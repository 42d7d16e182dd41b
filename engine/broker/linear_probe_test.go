package broker

import (
	"context"

	"mayfly/engine"
)

// ProbeSoon has a read-only broker try at its next turn whether something can be
// written, and not only when the second is over.
func (b *Broker) ProbeSoon(ctx context.Context) error {
	return act(ctx, b, func(*engine.Namespace, engine.Instant) error {
		b.probeAt = min(b.probeAt, 1)
		return nil
	})
}
