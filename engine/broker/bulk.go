package broker

import (
	"context"
	"errors"

	"mayfly/engine"
)

// ApplyOperations performs operations on messages in one turn. If `keep` is not nil, it gets the
// results and returns settings to store in the same commit. If a setting cannot be stored,
// ApplyOperations changes nothing and returns that error. If `keep` is not nil and an operation
// fails with engine.ErrMemoryFull, ApplyOperations changes nothing and returns that error, so that
// the caller can retry all operations once memory is available. The owner calls `keep`, possibly
// more than once, and it must not wait.
func (b *Broker) ApplyOperations(ctx context.Context, operations []engine.Operation, actor string, keep func([]engine.OperationResult) []engine.Setting) ([]engine.OperationResult, error) {
	return do(ctx, b, int64(len(operations))*opSize, func(ns *engine.Namespace, now engine.Instant) (all []engine.OperationResult, err error) {
		err = ns.Atomically(func() error {
			all = ns.ApplyOperations(now, operations, actor)
			if keep == nil {
				return nil
			}
			for _, d := range all {
				if errors.Is(d.Err, engine.ErrMemoryFull) {
					return d.Err
				}
			}
			return storeSettings(ns, now, keep(all))
		})
		return all, err
	})
}
