package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

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
	_, err = b.SetAccessRule(ctx, "", engine.AccessRule{Name: engine.RootAccessRule, Rights: engine.ListenRight | engine.SendRight | engine.ManageRight}, "")
	return err
}

// An AccessChange is an access rule as it was set.
type AccessChange struct {
	engine.AccessRule
	Added bool // it was not there before, and keys that were not given were made
}

// SetAccessRule adds a rule, or changes the one of that name: of a queue or topic,
// or of the namespace if at is empty. A key that is empty stays what it was; that
// of a new rule is random.
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

// AddAccessRule is SetAccessRule for a rule that is not there yet; else the error
// is engine.ErrExists.
func (b *Broker) AddAccessRule(ctx context.Context, at engine.Path, rule engine.AccessRule, actor string) (engine.AccessRule, error) {
	rule.PrimaryKey, rule.SecondaryKey = cmp.Or(rule.PrimaryKey, NewAccessKey()), cmp.Or(rule.SecondaryKey, NewAccessKey())
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.AccessRule, error) {
		if is, known := engine.FindAccessRule(accessRules(ns, at), rule.Name); known {
			return engine.AccessRule{}, &engine.Refusal{Kind: engine.ErrExists, SubCode: 40900, Text: fmt.Sprintf("There is an access rule called '%s' already.", is.Name)}
		}
		return setAccessRule(ns, now, at, rule, actor)
	})
}

// accessRules are those of an entity, or of the namespace.
func accessRules(ns *engine.Namespace, at engine.Path) []engine.AccessRule {
	if at == "" {
		return ns.AccessRules()
	}
	rules, _ := ns.AccessAt(at) // what is not there is refused later
	return rules
}

func setAccessRule(ns *engine.Namespace, now engine.Instant, at engine.Path, r engine.AccessRule, actor string) (engine.AccessRule, error) {
	if at == "" {
		return ns.SetAccessRule(now, r, actor)
	}
	return ns.SetAccessRuleOf(now, at, r, actor)
}

// RenewAccessKey gives a rule another random key: one of a queue or topic, or of
// the namespace if at is empty.
func (b *Broker) RenewAccessKey(ctx context.Context, at engine.Path, name string, which engine.KeyKind, actor string) (engine.AccessRule, error) {
	key := NewAccessKey()
	return do(ctx, b, 0, func(ns *engine.Namespace, now engine.Instant) (engine.AccessRule, error) {
		if at != "" {
			return ns.RenewAccessKeyOf(now, at, name, which, key, actor)
		}
		return ns.RenewAccessKey(now, name, which, key, actor)
	})
}

// RemoveAccessRule takes a rule from a queue or topic, or from the namespace if
// at is empty.
func (b *Broker) RemoveAccessRule(ctx context.Context, at engine.Path, name, actor string) error {
	return act(ctx, b, func(ns *engine.Namespace, now engine.Instant) error {
		if at != "" {
			return ns.RemoveAccessRuleOf(now, at, name, actor)
		}
		return ns.RemoveAccessRule(now, name, actor)
	})
}
