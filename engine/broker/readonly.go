package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mayfly/engine"
)

// goReadOnly takes back the turn that the store refused and answers its
// operations one by one, as if it had been read-only before.
func (b *Broker) goReadOnly(ctx context.Context, now engine.Instant, ops []*op, batch *engine.Batch, why error) error {
	b.log.Error("the store takes no writes; read-only until it does", "err", why)
	b.update(func(h *Health) { h.ReadOnly = unwritable(why) })
	b.probeAt, b.probeSize = now.Add(probeEvery), probeLeast
	for _, body := range batch.Bodies {
		b.probeSize = min(b.probeSize+len(body.Bytes), probeMost)
	}
	b.ns.Rollback()
	b.announce(engine.EventReadOnly, b.Health().ReadOnly)
	return b.readOnlyTurn(ctx, now, ops)
}

// readOnlyTurn answers what needs no write and refuses the rest. Once in a
// while it tries to write.
func (b *Broker) readOnlyTurn(ctx context.Context, now engine.Instant, ops []*op) error {
	if b.probeAt.Passed(now) {
		b.probeAt = now.Add(probeEvery)
		switch err := b.probe(ctx, now); {
		case err != nil && !errors.Is(err, engine.ErrUnwritable):
			return err
		case err == nil:
			b.log.Info("the store takes writes again")
			b.announce(engine.EventWritable, b.Health().ReadOnly)
			b.update(func(h *Health) { h.ReadOnly = "" })
			b.probeAt = 0
			return b.turn(ctx, ops)
		}
	}
	for _, o := range ops {
		err := o.step(b.ns, now)
		if o.receives { // what others wait for may need a write, and is no reason to refuse a look
			b.ns.Match(now)
		}
		if !b.store.Load().Owned() {
			return errUnowned
		}
		if hard, _ := b.ns.Pending(); hard {
			b.ns.Rollback()
			b.finish(o, busy(b.Health().ReadOnly))
			continue
		}
		fx := b.flush(now, takeNothing)
		b.ns.Seal(false)
		o.err = err
		b.answer([]*op{o}, fx)
	}
	return nil
}

// What a probe writes at the least and at the most, in bytes.
const (
	probeLeast = 64 << 10
	probeMost  = 1 << 20
)

// probe tries whether there is room again for what was refused, and takes it
// out again: a smaller write may fit where the next message does not.
func (b *Broker) probe(ctx context.Context, now engine.Instant) error {
	k := b.store.Load().keys.Next()
	err := b.commit(ctx, &engine.Batch{Hard: true, Now: now, Bodies: []engine.Body{{Key: k, Bytes: make([]byte, b.probeSize)}}})
	if err != nil {
		return err
	}
	return b.commit(ctx, &engine.Batch{Hard: true, Now: now, DropContents: []engine.DroppedContent{{Key: k, HasBody: true}}})
}

// unwritable is what a store gave as the reason for engine.ErrUnwritable.
func unwritable(err error) string {
	if _, reason, ok := strings.Cut(err.Error(), engine.ErrUnwritable.Error()+": "); ok {
		return reason
	}
	return err.Error()
}

// errReadOnly is in what busy says: nothing was done.
var errReadOnly = fmt.Errorf("%w: read-only", engine.ErrBusy)

func busy(reason string) error {
	return &engine.Refusal{Kind: errReadOnly, Text: fmt.Sprintf("Nothing can be written just now: %s.", reason)}
}
