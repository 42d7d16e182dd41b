package broker

import (
	"context"
	"errors"

	"mayfly/engine"
)

// ConfirmedCount is the number of messages that a user saw when agreeing to a destructive operation;
// negative if the user was not asked. The operation is refused with engine.ErrChanged if there
// are more than a tenth more by now.
type ConfirmedCount int64

// Unconfirmed is for callers that do not show a number first.
const Unconfirmed ConfirmedCount = -1

// Check returns nil if have messages may go, else engine.ErrChanged. It is for callers that do
// several operations at once, which check their sum first.
func (a ConfirmedCount) Check(have int64) error {
	if a >= 0 && have >= 0 && have-int64(a) > int64(a)/10 {
		return engine.Refuse(engine.ErrChanged, "There were %d messages when you confirmed; now there are %d. Nothing was changed. Confirm again.", a, have)
	}
	return nil
}

// Create adds an entity; a subscription gets the rule $Default.
func (b *Broker) Create(ctx context.Context, kind engine.EntityKind, p engine.Path, c engine.Config, actor string) (engine.Entity, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Entity, error) {
		return ns.Create(now, kind, p, c, actor)
	})
}

// CreateWithRules adds an entity; a subscription gets exactly these rules.
func (b *Broker) CreateWithRules(ctx context.Context, kind engine.EntityKind, p engine.Path, c engine.Config, rules []engine.Rule, actor string) (engine.Entity, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Entity, error) {
		return ns.CreateWithRules(now, kind, p, c, rules, actor)
	})
}

// Update replaces an entity's description (PROP-2).
func (b *Broker) Update(ctx context.Context, p engine.Path, c engine.Config, actor string) (engine.Entity, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Entity, error) {
		return ns.Update(now, p, c, actor)
	})
}

// Delete removes an entity and everything in it; agreed is the number of messages that go.
func (b *Broker) Delete(ctx context.Context, p engine.Path, agreed ConfirmedCount, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		have, err := ns.CountContained(p)
		if err != nil {
			return err
		}
		if err := agreed.Check(have); err != nil {
			return err
		}
		return ns.Delete(now, p, actor)
	})
}

// AddRule adds a rule to a subscription.
func (b *Broker) AddRule(ctx context.Context, p engine.Path, r engine.Rule, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.AddRule(now, p, r, actor) })
}

// ReplaceRule replaces the filter and action of a rule.
func (b *Broker) ReplaceRule(ctx context.Context, p engine.Path, r engine.Rule, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.ReplaceRule(now, p, r, actor) })
}

// RemoveRule removes a rule from a subscription.
func (b *Broker) RemoveRule(ctx context.Context, p engine.Path, name, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.RemoveRule(now, p, name, actor) })
}

// RestoreEntity recreates an entity that deleted itself, from its last event: description and rules,
// for a topic its subscriptions too, all or nothing; its messages are gone (OPS-9).
func (b *Broker) RestoreEntity(ctx context.Context, gone engine.Event, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		for i, e := range append([]engine.Entity{*gone.Entity}, gone.Subscriptions...) {
			var rules []engine.Rule
			for _, r := range gone.Rules {
				if r.Subscription == e.ID {
					rules = append(rules, r)
				}
			}
			if _, err := ns.CreateWithRules(now, e.Kind, e.Path, e.Config, rules, actor); err != nil {
				if i > 0 {
					return errors.Join(err, ns.Delete(now, gone.Entity.Path, actor))
				}
				return err
			}
		}
		return nil
	})
}

// Touch counts as use of a temporary entity.
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

// Pin keeps a temporary entity until Unpin.
func (b *Broker) Pin(ctx context.Context, p engine.Path, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Pin(now, p, actor) })
}

// Unpin restores the idle time of a pinned entity.
func (b *Broker) Unpin(ctx context.Context, p engine.Path, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Unpin(now, p, actor) })
}

// RecordView notes in the idle ledger that a user looked at the entity; it does not count as use.
func (b *Broker) RecordView(ctx context.Context, p engine.Path, what, by string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { ns.RecordView(now, p, what, by); return nil })
}

// Move moves a message to another entity, or a dead letter back (OPS-1, OPS-2, OPS-10).
func (b *Broker) Move(ctx context.Context, m engine.Move, actor string) (engine.Seq, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Seq, error) { return ns.Move(now, m, actor) })
}

// Replace is Move of a message that a user has edited: it goes, or stays if mv.Copy is set,
// and out enters the target, in one commit or neither. The number is zero if out was dropped
// as a duplicate.
func (b *Broker) Replace(ctx context.Context, mv engine.Move, out Outgoing, actor string) (did engine.ReplaceResult, err error) {
	_, err = b.sendWith(ctx, mv.To, []Outgoing{out}, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) (_ []engine.Seq, err error) {
		if did, err = ns.Replace(now, mv, batch[0], actor); err != nil {
			ns.DiscardStaged(batch)
		}
		return nil, err
	})
	return did, err
}

// UndoReplace undoes a Replace: out is the message as it was before, body included.
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

// DeleteMessage removes a message without a trace (OPS-5).
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

// Reschedule gives a scheduled message another time, and number (OPS-8).
func (b *Broker) Reschedule(ctx context.Context, k engine.Key, at engine.Instant, actor string) (engine.Seq, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Seq, error) {
		return ns.Reschedule(now, k, at, actor)
	})
}
