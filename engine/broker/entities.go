package broker

import (
	"context"
	"errors"

	"mayfly/engine"
)

// ConfirmedCount is the number of messages that a user saw when agreeing to a destructive
// operation; it is negative if the user was not asked. The operation is refused with
// engine.ErrChanged if the present number is more than a tenth higher.
type ConfirmedCount int64

// Unconfirmed is for callers that do not show a number first.
const Unconfirmed ConfirmedCount = -1

// Check returns nil if an operation may destroy the given number of messages, else
// engine.ErrChanged. Callers that do several operations at once check the sum of their messages
// with it first.
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

// Delete removes an entity and everything in it. The error is engine.ErrChanged if the entity has
// more messages than `agreed` allows; see ConfirmedCount.
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

// RestoreEntity recreates an entity that deleted itself, from the event of its deletion: its
// description and rules, and for a topic its subscriptions, all or nothing. Its messages are lost
// (OPS-9).
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
