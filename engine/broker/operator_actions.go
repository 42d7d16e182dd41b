package broker

import (
	"context"

	"mayfly/engine"
)

// Touch counts as a use of a temporary entity, so that it is not deleted yet.
func (b *Broker) Touch(ctx context.Context, p engine.Path, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Touch(now, p, actor) })
}

// Audit audits an operator's action that did not change the namespace's content; see
// engine.Namespace.Audit.
func (b *Broker) Audit(ctx context.Context, kind engine.EventKind, about, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		ns.Audit(now, kind, about, actor)
		return nil
	})
}

// AuditDisconnect audits that an operator closed a client's connection.
func (b *Broker) AuditDisconnect(ctx context.Context, client, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		ns.AuditDisconnect(now, client, actor)
		return nil
	})
}

// Pin keeps a temporary entity from being deleted for idleness until Unpin.
func (b *Broker) Pin(ctx context.Context, p engine.Path, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Pin(now, p, actor) })
}

// Unpin restores the idle time of a pinned entity.
func (b *Broker) Unpin(ctx context.Context, p engine.Path, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Unpin(now, p, actor) })
}

// RecordView adds an entry with the text `what` for the user `by` to an entity's use history,
// because the user viewed the entity. A view does not count as use (IDLE-7).
func (b *Broker) RecordView(ctx context.Context, p engine.Path, what, by string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { ns.RecordView(now, p, what, by); return nil })
}

// Move moves a message to another entity, or a dead letter back (OPS-1, OPS-2, OPS-10).
func (b *Broker) Move(ctx context.Context, m engine.Move, actor string) (engine.Seq, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Seq, error) { return ns.Move(now, m, actor) })
}

// Replace is Move of a message that a user has edited: in one commit, it removes the message,
// unless mv.Copy is set, and sends the edited message `out` to mv.To. The result's Seq is zero if
// the edited message was dropped as a duplicate.
func (b *Broker) Replace(ctx context.Context, mv engine.Move, out Outgoing, actor string) (did engine.ReplaceResult, err error) {
	_, err = b.sendWith(ctx, mv.To, []Outgoing{out}, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) (_ []engine.Seq, err error) {
		if did, err = ns.Replace(now, mv, batch[0], actor); err != nil {
			ns.DiscardStaged(batch)
		}
		return nil, err
	})
	return did, err
}

// UndoReplace undoes a Replace, whose result is `did`. `out` is the message as it was before, body
// included.
func (b *Broker) UndoReplace(ctx context.Context, did engine.ReplaceResult, out Outgoing, actor string) error {
	_, err := b.sendWith(ctx, did.Before.Path.Entity(), []Outgoing{out}, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		err := ns.UndoReplace(now, did, batch[0], actor)
		if err != nil {
			ns.DiscardStaged(batch)
		}
		return nil, err
	})
	return err
}

// Extend sets when a message expires (OPS-3).
func (b *Broker) Extend(ctx context.Context, k engine.Key, expires engine.Instant, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Extend(now, k, expires, actor) })
}

// ReturnToActive makes a deferred message deliverable again (OPS-4).
func (b *Broker) ReturnToActive(ctx context.Context, k engine.Key, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.ReturnToActive(now, k, actor) })
}

// DeadLetterMessage moves a message to the dead-letter queue (OPS-5).
func (b *Broker) DeadLetterMessage(ctx context.Context, k engine.Key, reason, description, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.DeadLetterMessage(now, k, reason, description, actor)
	})
}

// DeleteMessage deletes a message (OPS-5); a scheduled one is cancelled.
func (b *Broker) DeleteMessage(ctx context.Context, k engine.Key, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.DeleteMessage(now, k, actor) })
}

// BreakLock ends a lock as if it had run out now (OPS-6).
func (b *Broker) BreakLock(ctx context.Context, k engine.Key, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.BreakLock(now, k, actor) })
}

// RenewLockFor renews a lock on behalf of its holder (OPS-6).
func (b *Broker) RenewLockFor(ctx context.Context, k engine.Key, actor string) (engine.Instant, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Instant, error) {
		return ns.RenewLockFor(now, k, actor)
	})
}

// SendNow activates a scheduled message at once (OPS-8).
func (b *Broker) SendNow(ctx context.Context, k engine.Key, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.SendNow(now, k, actor) })
}

// Reschedule changes the time of a scheduled message, which gets a new sequence number (OPS-8).
func (b *Broker) Reschedule(ctx context.Context, k engine.Key, at engine.Instant, actor string) (engine.Seq, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Seq, error) {
		return ns.Reschedule(now, k, at, actor)
	})
}
