package broker

import (
	"context"
	"fmt"

	"mayfly/engine"
)

// goReadOnly takes back the turn that the store refused and answers its
// operations one by one, as if it had been read-only before.
func (b *Broker) goReadOnly(ctx context.Context, now engine.Instant, ops []*op, why error) error {
	b.log.Error("the store takes no writes; read-only until it does", "err", why)
	b.update(func(h *Health) { h.ReadOnly = why.Error() })
	b.probeAt = now.Add(probeEvery)
	b.ns.Rollback()
	return b.readOnlyTurn(ctx, now, ops)
}

// readOnlyTurn answers what needs no write and refuses the rest. Once in a
// while it tries to write.
func (b *Broker) readOnlyTurn(ctx context.Context, now engine.Instant, ops []*op) error {
	if b.probeAt.Passed(now) {
		b.probeAt = now.Add(probeEvery)
		if err := b.store.Load().Commit(ctx, &engine.Batch{Hard: true, Now: now}); err == nil {
			b.log.Info("the store takes writes again")
			b.update(func(h *Health) { h.ReadOnly = "" })
			b.probeAt = 0
			return b.turn(ctx, ops)
		}
	}
	reason := b.Health().ReadOnly
	for _, o := range ops {
		err := o.step(b.ns, now)
		b.ns.Match(now)
		if hard, _ := b.ns.Pending(); hard {
			b.ns.Rollback()
			b.finish(o, &engine.Refusal{Kind: engine.ErrBusy, Text: fmt.Sprintf("Nothing can be written just now: %s.", reason)})
			continue
		}
		fx := b.ns.Flush(now, false)
		b.ns.Seal(false)
		o.err = err
		b.answer([]*op{o}, fx)
	}
	return nil
}
