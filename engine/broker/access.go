package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"

	"mayfly/engine"
)

// NewAccessKey returns a random key in the form that Service Bus uses: 256 bits in base64.
func NewAccessKey() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.StdEncoding.EncodeToString(b[:])
}

// AccessRules returns the namespace's own rules, by name. The caller must not change them.
func (r Reader) AccessRules() []engine.AccessRule { return r.ns.AccessRules() }

// EntityAccessRules returns the rules of an entity, which come before the namespace's, and reports
// whether the entity exists.
func (r Reader) EntityAccessRules(p engine.Path) ([]engine.AccessRule, bool) {
	return r.ns.EntityAccessRules(p)
}

// AccessRules returns the namespace's own rules, by name. The caller must not change them.
func (b *Broker) AccessRules(ctx context.Context) (rules []engine.AccessRule, err error) {
	err = b.Read(ctx, func(r Reader) error { rules = r.AccessRules(); return nil })
	return rules, err
}

// EnsureRootAccessRule adds engine.RootAccessRule with random keys to a namespace that lacks it. A
// server calls it before any client can connect.
func (b *Broker) EnsureRootAccessRule(ctx context.Context) error {
	rules, err := b.AccessRules(ctx)
	if err != nil {
		return err
	}
	if _, ok := engine.FindAccessRule(rules, engine.RootAccessRule); ok {
		return nil
	}
	_, err = b.SetAccessRule(ctx, "", engine.AccessRule{Name: engine.RootAccessRule, Rights: engine.ListenRight | engine.SendRight | engine.ManageRight}, "")
	return err
}

// An AccessChange is an access rule after SetAccessRule.
type AccessChange struct {
	engine.AccessRule
	Added bool // the rule is new, and missing keys were generated
}

// SetAccessRule adds an access rule to the queue or topic `at`, or to the namespace if `at` is
// empty, or changes the rule that has the same name. An empty key leaves the rule's key unchanged;
// a new rule gets a random key instead.
func (b *Broker) SetAccessRule(ctx context.Context, at engine.Path, rule engine.AccessRule, actor string) (AccessChange, error) {
	primary, secondary := NewAccessKey(), NewAccessKey()
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (AccessChange, error) {
		r := rule
		_, known := engine.FindAccessRule(accessRules(ns, at), r.Name)
		if !known {
			r.PrimaryKey, r.SecondaryKey = cmp.Or(r.PrimaryKey, primary), cmp.Or(r.SecondaryKey, secondary)
		}
		is, err := setAccessRule(ns, now, at, r, actor)
		return AccessChange{is, !known}, err
	})
}

// AddAccessRule is SetAccessRule for a new rule; if the rule exists, the error is
// engine.ErrExists.
func (b *Broker) AddAccessRule(ctx context.Context, at engine.Path, rule engine.AccessRule, actor string) (engine.AccessRule, error) {
	rule.PrimaryKey, rule.SecondaryKey = cmp.Or(rule.PrimaryKey, NewAccessKey()), cmp.Or(rule.SecondaryKey, NewAccessKey())
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.AccessRule, error) {
		if is, known := engine.FindAccessRule(accessRules(ns, at), rule.Name); known {
			return engine.AccessRule{}, engine.Refuse(engine.ErrExists, "The access rule '%s' already exists.", is.Name)
		}
		return setAccessRule(ns, now, at, rule, actor)
	})
}

// accessRules returns the rules of the entity `at`, or of the namespace if `at` is empty. It
// returns none if the entity does not exist.
func accessRules(ns *engine.Namespace, at engine.Path) []engine.AccessRule {
	if at == "" {
		return ns.AccessRules()
	}
	rules, _ := ns.EntityAccessRules(at) // the caller's next step refuses an entity that does not exist
	return rules
}

func setAccessRule(ns *engine.Namespace, now engine.Instant, at engine.Path, r engine.AccessRule, actor string) (engine.AccessRule, error) {
	if at == "" {
		return ns.SetAccessRule(now, r, actor)
	}
	return ns.SetEntityAccessRule(now, at, r, actor)
}

// RegenerateAccessKey replaces a key of an access rule by a random one. The rule belongs to the
// queue or topic `at`, or to the namespace if `at` is empty.
func (b *Broker) RegenerateAccessKey(ctx context.Context, at engine.Path, name string, which engine.KeyKind, actor string) (engine.AccessRule, error) {
	key := NewAccessKey()
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.AccessRule, error) {
		if at != "" {
			return ns.RegenerateEntityAccessKey(now, at, name, which, key, actor)
		}
		return ns.RegenerateAccessKey(now, name, which, key, actor)
	})
}

// RemoveAccessRule removes an access rule from the queue or topic `at`, or from the namespace if
// `at` is empty.
func (b *Broker) RemoveAccessRule(ctx context.Context, at engine.Path, name, actor string) error {
	return exec(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		if at != "" {
			return ns.RemoveEntityAccessRule(now, at, name, actor)
		}
		return ns.RemoveAccessRule(now, name, actor)
	})
}
