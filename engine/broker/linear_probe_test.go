package broker

import (
	"context"

	"mayfly/engine"
)

// ProbeSoon lets a read-only broker try at its next turn whether writes work, instead of after
// a second.
func (b *Broker) ProbeSoon(ctx context.Context) error {
	return exec(ctx, b, func(*engine.Namespace, engine.Instant) error {
		b.probeAt = min(b.probeAt, 1)
		return nil
	})
}
