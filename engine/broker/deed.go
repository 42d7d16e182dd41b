package broker

import (
	"context"

	"mayfly/engine"
)

// DoEach does something to each of several messages in one turn. keep, unless it is nil,
// is told what became of them, and the settings it returns are kept in the same
// commit, so that neither is without the other: if one of them cannot be kept, that
// is the error and nothing was done. keep may be called more than once, by the
// owner, and must not wait.
func (b *Broker) DoEach(ctx context.Context, deeds []engine.Deed, actor string, keep func([]engine.Deeded) []engine.Setting) ([]engine.Deeded, error) {
	return do(ctx, b, int64(len(deeds))*opSize, func(ns *engine.Namespace, now engine.Instant) (all []engine.Deeded, err error) {
		err = ns.Together(func() error {
			all = ns.DoEach(now, deeds, actor)
			if keep == nil {
				return nil
			}
			return set(ns, now, keep(all))
		})
		return all, err
	})
}
