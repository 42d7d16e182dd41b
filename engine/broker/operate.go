package broker

import (
	"context"
	"errors"
	"fmt"

	"mayfly/engine"
)

// Agreed is the number that somebody saw when agreeing to something
// destructive; negative: nobody was asked. An operation is refused with
// engine.ErrChanged if there is more than a tenth more by now.
type Agreed int64

// Unasked is for callers that are not shown a number first.
const Unasked Agreed = -1

// Check is nil if have messages may go, else it is engine.ErrChanged: for
// callers that ask for several things at once, which check their sum first.
func (a Agreed) Check(have int64) error {
	if a >= 0 && have >= 0 && have-int64(a) > int64(a)/10 {
		return &engine.Refusal{Kind: engine.ErrChanged, Text: fmt.Sprintf("There were %d messages when you agreed; now there are %d. Nothing was changed.", a, have)}
	}
	return nil
}

// Create adds an entity; a subscription gets the rule $Default.
func (b *Broker) Create(ctx context.Context, kind engine.EntityKind, p engine.Path, c engine.Config, actor string) (engine.Entity, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Entity, error) {
		return ns.Create(now, kind, p, c, actor)
	})
}

// CreateWithRules adds an entity; a subscription gets just these rules.
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

// Delete removes an entity with everything in it, agreed being the number of
// messages that go.
func (b *Broker) Delete(ctx context.Context, p engine.Path, agreed Agreed, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		have, err := ns.Contained(p)
		if err != nil {
			return err
		}
		if err := agreed.Check(have); err != nil {
			return err
		}
		return ns.Delete(now, p, actor)
	})
}

// AddRule gives a subscription one more rule.
func (b *Broker) AddRule(ctx context.Context, p engine.Path, r engine.Rule, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.AddRule(now, p, r, actor) })
}

// ReplaceRule gives a rule another filter and action.
func (b *Broker) ReplaceRule(ctx context.Context, p engine.Path, r engine.Rule, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.ReplaceRule(now, p, r, actor) })
}

// RemoveRule takes a rule from a subscription.
func (b *Broker) RemoveRule(ctx context.Context, p engine.Path, name, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.RemoveRule(now, p, name, actor) })
}

// Restore creates again what deleted itself, from its last event: description
// and rules, for a topic its subscriptions too, all or nothing; its messages are
// gone (OPS-9).
func (b *Broker) Restore(ctx context.Context, gone engine.Event, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		for i, e := range append([]engine.Entity{*gone.Entity}, gone.Subs...) {
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
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Touch(now, p, actor) })
}

// Remember has something remembered that an operator did, but not to what is in the
// namespace: see engine.Namespace.Remember.
func (b *Broker) Remember(ctx context.Context, kind engine.EventKind, about, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		ns.Remember(now, kind, about, actor)
		return nil
	})
}

// Disconnected has it remembered that an operator closed a client's connection.
func (b *Broker) Disconnected(ctx context.Context, client, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		ns.Disconnected(now, client, actor)
		return nil
	})
}

// Pin keeps a temporary entity until Unpin.
func (b *Broker) Pin(ctx context.Context, p engine.Path, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Pin(now, p, actor) })
}

// Unpin gives a pinned entity its idle time back.
func (b *Broker) Unpin(ctx context.Context, p engine.Path, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Unpin(now, p, actor) })
}

// Looked notes in the idle ledger that somebody looked; it does not count.
func (b *Broker) Looked(ctx context.Context, p engine.Path, what, by string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { ns.Looked(now, p, what, by); return nil })
}

// Move takes a message elsewhere, or a dead letter back (OPS-1, OPS-2, OPS-10).
func (b *Broker) Move(ctx context.Context, m engine.Move, actor string) (engine.Seq, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Seq, error) { return ns.Move(now, m, actor) })
}

// Replace is Move of a message that somebody has written anew: it goes, or stays if
// mv.Copy is set, and out enters the target, in one commit or neither. The zero number is
// one that was dropped as a duplicate.
func (b *Broker) Replace(ctx context.Context, mv engine.Move, out Outgoing, actor string) (did engine.Replaced, err error) {
	_, err = b.sendBy(ctx, mv.To, []Outgoing{out}, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) (_ []engine.Seq, err error) {
		if did, err = ns.Replace(now, mv, batch[0], actor); err != nil {
			ns.Discard(batch)
		}
		return nil, err //nolint:wrapcheck // it says what it is about
	})
	return did, err
}

// TakeBack undoes a Replace: out is the message as it was before that, body included.
func (b *Broker) TakeBack(ctx context.Context, did engine.Replaced, out Outgoing, actor string) error {
	_, err := b.sendBy(ctx, did.Was.Path.Entity(), []Outgoing{out}, func(ns *engine.Namespace, now engine.Instant, batch []engine.Submission) ([]engine.Seq, error) {
		err := ns.TakeBack(now, did, batch[0], actor)
		if err != nil {
			ns.Discard(batch)
		}
		return nil, err //nolint:wrapcheck // it says what it is about
	})
	return err
}

// Extend sets when a message expires (OPS-3).
func (b *Broker) Extend(ctx context.Context, k engine.Key, expires engine.Instant, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.Extend(now, k, expires, actor) })
}

// ReturnToActive makes a deferred message deliverable again (OPS-4).
func (b *Broker) ReturnToActive(ctx context.Context, k engine.Key, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.ReturnToActive(now, k, actor) })
}

// DeadLetterOne moves a message to the dead-letter queue (OPS-5).
func (b *Broker) DeadLetterOne(ctx context.Context, k engine.Key, reason, description, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		return ns.DeadLetterOne(now, k, reason, description, actor)
	})
}

// DeleteOne removes a message without a trace (OPS-5).
func (b *Broker) DeleteOne(ctx context.Context, k engine.Key, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.DeleteOne(now, k, actor) })
}

// BreakLock ends a lock as if it had run out now (OPS-6).
func (b *Broker) BreakLock(ctx context.Context, k engine.Key, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.BreakLock(now, k, actor) })
}

// RenewFor renews a lock on behalf of its holder (OPS-6).
func (b *Broker) RenewFor(ctx context.Context, k engine.Key, actor string) (engine.Instant, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Instant, error) {
		return ns.RenewFor(now, k, actor)
	})
}

// SendNow activates a scheduled message at once (OPS-8).
func (b *Broker) SendNow(ctx context.Context, k engine.Key, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.SendNow(now, k, actor) })
}

// Reschedule gives a scheduled message another time, and number (OPS-8).
func (b *Broker) Reschedule(ctx context.Context, k engine.Key, at engine.Instant, actor string) (engine.Seq, error) {
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.Seq, error) {
		return ns.Reschedule(now, k, at, actor)
	})
}
