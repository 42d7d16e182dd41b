package engine

import (
	"slices"
	"strings"
)

// RootAccessRule is the name of the access rule that a namespace always has,
// with all rights.
const RootAccessRule = "RootManageSharedAccessKey"

// A KeyKind says which of a rule's two keys is meant.
type KeyKind uint8

// The keys of a rule. Both are good at any time, so that clients can be moved
// from one to the other before it is made anew.
const (
	PrimaryKey KeyKind = iota
	SecondaryKey
)

func (k KeyKind) String() string { return [...]string{"primary", "secondary"}[k] }

// AccessRules are the namespace's own rules, in the order of their names. The
// result is not to be changed.
func (ns *Namespace) AccessRules() []AccessRule { return ns.access }

// AccessAt are the rules that decide about an entity, before the namespace's:
// those in its own description or, for a subscription, its topic's. It tells
// whether the entity is there. The result is not to be changed.
func (ns *Namespace) AccessAt(p Path) (rules []AccessRule, there bool) {
	e := ns.entities[p.Entity().Fold()]
	if e == nil {
		return nil, false
	}
	return e.root().Config.AuthorizationRules, true
}

// SetAccessRule adds a rule to the namespace, or gives the one of that name
// other rights and keys. A key that is empty stays what it was. Its times are
// the namespace's to say. RootAccessRule keeps all rights.
func (ns *Namespace) SetAccessRule(now Instant, r AccessRule, actor string) (AccessRule, error) {
	was, known := FindAccessRule(ns.access, r.Name)
	did := CreatedAccess
	r.CreatedAt, r.UpdatedAt = now, now
	if known {
		did, r = UpdatedAccess, r.after(was)
	}
	switch err := r.check(); {
	case err != nil:
		return AccessRule{}, err
	case strings.EqualFold(r.Name, RootAccessRule) && !r.Rights.Has(ManageRight):
		return AccessRule{}, refuse(ErrNotAllowed, "The rule '%s' always has all rights.", RootAccessRule)
	case !known && int64(len(ns.access)) >= ns.limits.AccessRules:
		return AccessRule{}, refuse(ErrQuota, "This namespace has %d access rules, which is the most it may have.", len(ns.access))
	}
	ns.setAccess(now, with(ns.access, r), AccessDeed{did, r.String()}, actor)
	return r, nil
}

// RenewAccessKey replaces one key of a rule of the namespace: what was signed
// with it is no good from then on.
func (ns *Namespace) RenewAccessKey(now Instant, name string, which KeyKind, key, actor string) (AccessRule, error) {
	r, ok := FindAccessRule(ns.access, name)
	if !ok {
		return AccessRule{}, noAccessRule(name)
	}
	if r = r.renewed(now, which, key); r.check() != nil {
		return AccessRule{}, r.check()
	}
	did := RenewedPrimaryKey
	if which == SecondaryKey {
		did = RenewedSecondaryKey
	}
	ns.setAccess(now, with(ns.access, r), AccessDeed{did, r.Name}, actor)
	return r, nil
}

// RemoveAccessRule takes a rule from the namespace; RootAccessRule stays.
func (ns *Namespace) RemoveAccessRule(now Instant, name, actor string) error {
	r, ok := FindAccessRule(ns.access, name)
	switch {
	case !ok:
		return noAccessRule(name)
	case strings.EqualFold(name, RootAccessRule):
		return refuse(ErrNotAllowed, "The rule '%s' cannot be removed; its keys can be made anew.", RootAccessRule)
	}
	ns.setAccess(now, slices.DeleteFunc(slices.Clone(ns.access), func(o AccessRule) bool { return o.Name == r.Name }), AccessDeed{RemovedAccess, r.Name}, actor)
	return nil
}

func noAccessRule(name string) error {
	return refuse(ErrNoAccessRule, "There is no access rule called '%s'.", cut(name, 64))
}

// with is rules with one more, or with one in another's place, in order.
func with(rules []AccessRule, r AccessRule) []AccessRule {
	at, known := slices.BinarySearchFunc(rules, r, compareAccess)
	rules = slices.Clone(rules)
	if known {
		rules[at] = r
		return rules
	}
	return slices.Insert(rules, at, r)
}

func compareAccess(a, b AccessRule) int {
	return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
}

// setAccess is the one place where the namespace's rules change. What nobody has
// done, as the root rule of a new namespace, is no event.
func (ns *Namespace) setAccess(now Instant, rules []AccessRule, what AccessDeed, actor string) {
	before := ns.access
	ns.changes.note(undo{kind: undoOther, other: func() { ns.access = before }})
	ns.access, ns.changes.access, ns.changes.hard = rules, true, true
	if actor == "" {
		return
	}
	ns.events = append(ns.events, Event{Kind: EventAccessChanged, At: now, Actor: actor, Reason: what.String()})
	ns.audit(&ns.events[len(ns.events)-1])
}
