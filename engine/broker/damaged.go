package broker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"mayfly/engine"
)

// DamagedMessages lists the messages whose stored form is damaged. They are not delivered.
func (b *Broker) DamagedMessages(ctx context.Context) ([]engine.DamagedMessage, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, _ engine.Instant) ([]engine.DamagedMessage, error) {
		return ns.DamagedMessages(), nil
	})
}

// Quarantine moves damaged messages out of the namespace, to a place in the store that
// no server reads, and returns how many it moved. Keys of other messages are skipped.
func (b *Broker) Quarantine(ctx context.Context, keys []engine.Key, actor string) (int, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (n int, _ error) {
		for _, k := range keys {
			if ns.SetAside(now, k, actor) {
				n++
			}
		}
		return n, nil
	})
}

// countDamaged updates Health.Damaged. Only the owner calls it.
func (b *Broker) countDamaged() {
	if n := b.ns.DamagedCount(); n != b.health.Load().Damaged {
		if n > b.health.Load().Damaged {
			b.log.Error("damaged messages are not delivered", "messages", n)
		}
		b.updateHealth(func(h *Health) { h.Damaged = n })
	}
}

// removeDamaged removes the messages with content k, whose body is damaged, from their queues. It
// returns the error for the reader of the body, an engine.ErrMessageNotFound.
func (b *Broker) removeDamaged(ctx context.Context, k engine.Key, why error) error {
	b.log.Error("a body is damaged; its message was removed from the queue", "content", k, "err", why)
	err := exec(context.WithoutCancel(ctx), b, func(ns *engine.Namespace, now engine.Instant) error {
		ns.MarkDamaged(now, k, engine.DamagedBody)
		return nil
	})
	return errors.Join(engine.Refuse(fmt.Errorf("%w: %w", engine.ErrMessageNotFound, why), "The body of the message is damaged. The message was moved to the list of damaged messages."), err)
}

// A checkedBody removes its message from the queue when a later part of the body turns out to
// be damaged.
type checkedBody struct {
	io.ReadSeekCloser
	b   *Broker
	ctx context.Context //nolint:containedctx // the reader's
	key engine.Key
}

func (w *checkedBody) Read(p []byte) (int, error) {
	n, err := w.ReadSeekCloser.Read(p)
	if errors.Is(err, engine.ErrDamaged) {
		err = w.b.removeDamaged(w.ctx, w.key, err)
	}
	return n, err
}
