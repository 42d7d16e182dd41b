package broker

import (
	"context"
	"crypto/rand"
	"encoding/base64"

	"mayfly/engine"
)

// NewAccessKey is a random key as Service Bus makes them: 256 bits in base64.
func NewAccessKey() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.StdEncoding.EncodeToString(b[:])
}

// AccessRules are the namespace's own, by name. They are not to be changed.
func (r Reader) AccessRules() []engine.AccessRule { return r.ns.AccessRules() }

// AccessAt are the rules of an entity that stand before the namespace's, and
// whether it is there.
func (r Reader) AccessAt(p engine.Path) ([]engine.AccessRule, bool) { return r.ns.AccessAt(p) }

// AccessRules are the namespace's own, by name. They are not to be changed.
func (b *Broker) AccessRules(ctx context.Context) (rules []engine.AccessRule, err error) {
	err = b.Read(ctx, func(r Reader) error { rules = r.AccessRules(); return nil })
	return rules, err
}

// FurnishAccess gives a namespace that has no engine.RootAccessRule one with
// random keys. A server calls it before anybody can connect.
func (b *Broker) FurnishAccess(ctx context.Context) error {
	rules, err := b.AccessRules(ctx)
	if err != nil {
		return err
	}
	if _, ok := engine.FindAccessRule(rules, engine.RootAccessRule); ok {
		return nil
	}
	_, err = b.SetAccessRule(ctx, engine.AccessRule{Name: engine.RootAccessRule, Rights: engine.ListenRight | engine.SendRight | engine.ManageRight}, "")
	return err
}

// SetAccessRule adds a rule to the namespace, or changes the one of that name.
// A key that is empty stays what it was; that of a new rule is random.
func (b *Broker) SetAccessRule(ctx context.Context, rule engine.AccessRule, actor string) (engine.AccessRule, error) {
	primary, secondary := NewAccessKey(), NewAccessKey()
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.AccessRule, error) {
		r := rule
		if _, known := engine.FindAccessRule(ns.AccessRules(), r.Name); !known {
			if r.PrimaryKey == "" {
				r.PrimaryKey = primary
			}
			if r.SecondaryKey == "" {
				r.SecondaryKey = secondary
			}
		}
		return ns.SetAccessRule(now, r, actor)
	})
}

// RenewAccessKey gives a rule of the namespace another random key.
func (b *Broker) RenewAccessKey(ctx context.Context, name string, which engine.KeyKind, actor string) (engine.AccessRule, error) {
	key := NewAccessKey()
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.AccessRule, error) {
		return ns.RenewAccessKey(now, name, which, key, actor)
	})
}

// RemoveAccessRule takes a rule from the namespace.
func (b *Broker) RemoveAccessRule(ctx context.Context, name, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error { return ns.RemoveAccessRule(now, name, actor) })
}
