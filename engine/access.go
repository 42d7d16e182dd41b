package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine/shorten"
)

// Rights is a bit set of the operations that an access rule allows.
type Rights uint8

// The rights of Service Bus.
const (
	ListenRight Rights = 1 << iota
	SendRight
	ManageRight // implies the others

	allRights = ListenRight | SendRight | ManageRight
)

// rightNames are the names of the rights in Service Bus' order.
var rightNames = []string{
	"Listen", "Send", "Manage",
}

// Has reports whether r includes all of want.
func (r Rights) Has(want Rights) bool { return r&ManageRight != 0 || r&want == want }

// Names returns the names of the rights in r, in the order Listen, Send, Manage.
func (r Rights) Names() (names []string) {
	for i, name := range rightNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (r Rights) String() string { return strings.Join(r.Names(), ",") }

// ParseRights parses names of rights, in any case and order. The error is ErrArgument.
func ParseRights(names []string) (r Rights, err error) {
	for _, name := range names {
		i := slices.IndexFunc(rightNames, func(known string) bool { return strings.EqualFold(known, strings.TrimSpace(name)) })
		if i < 0 {
			return 0, accessError(shorten.To(name, 64), "The right '%s' does not exist. Choose from %s.", shorten.To(name, 64), strings.Join(rightNames, ", "))
		}
		r |= 1 << i
	}
	return r, nil
}

// An AccessRule is a named pair of keys, either of which grants Rights: at one entity if the
// rule is in its description, at all of them if it is the namespace's. An empty key grants
// nothing.
type AccessRule struct {
	Name         string
	Rights       Rights
	PrimaryKey   string
	SecondaryKey string
	CreatedAt    Instant // zero if unknown
	UpdatedAt    Instant // zero if unknown
}

// String omits the keys, so that none gets into a log.
func (r AccessRule) String() string { return fmt.Sprintf("%s (%s)", r.Name, r.Rights) }

// GoString omits the keys too.
func (r AccessRule) GoString() string { return r.String() }

// FindAccessRule finds a rule by its name, in any case.
func FindAccessRule(rules []AccessRule, name string) (AccessRule, bool) {
	i := accessIndex(rules, name)
	if i < 0 {
		return AccessRule{}, false
	}
	return rules[i], true
}

func accessIndex(rules []AccessRule, name string) int {
	return slices.IndexFunc(rules, func(r AccessRule) bool { return strings.EqualFold(r.Name, name) })
}

// updating returns r, the new values of the rule `was`, with the name and creation time of `was`, and
// with the keys of `was` where r has none.
func (r AccessRule) updating(was AccessRule) AccessRule {
	r.Name, r.CreatedAt = was.Name, was.CreatedAt
	r.PrimaryKey, r.SecondaryKey = cmp.Or(r.PrimaryKey, was.PrimaryKey), cmp.Or(r.SecondaryKey, was.SecondaryKey)
	return r
}

// withKey returns r with the key of the given kind replaced, and with its update time set to now.
func (r AccessRule) withKey(now Instant, which KeyKind, key string) AccessRule {
	if which == PrimaryKey {
		r.PrimaryKey = key
	} else {
		r.SecondaryKey = key
	}
	r.UpdatedAt = max(now, r.CreatedAt)
	return r
}

// Maximum lengths of an access rule's name (characters) and keys (bytes), as in the
// SDKs.
const (
	accessNameLength = 256
	accessKeyLength  = 256
)

// checkAccess requires valid rules with distinct names, at most l.AccessRules of them, and
// none for a subscription, to which its topic's rules apply. It accepts rules without a check if an
// update does not change them: `was` are the present ones.
func (l Limits) checkAccess(kind EntityKind, was, rules []AccessRule) error {
	if slices.Equal(was, rules) {
		return nil
	}
	if kind == Subscription {
		return accessError("", "A subscription cannot have authorization rules: those of its topic apply.")
	}
	if int64(len(rules)) > l.AccessRules {
		return accessError("", "An entity can have at most %d authorization rules, not %d.", l.AccessRules, len(rules))
	}
	for i, r := range rules {
		if err := r.check(); err != nil {
			return err
		}
		if _, twice := FindAccessRule(rules[:i], r.Name); twice {
			return accessError(r.Name, "There are two authorization rules named '%s'. Names are not case-sensitive.", r.Name)
		}
	}
	return nil
}

func (r AccessRule) check() error {
	switch {
	case r.Name == "" || utf8.RuneCountInString(r.Name) > accessNameLength || !printable(r.Name):
		return accessError(shorten.To(r.Name, 64), "The name of an authorization rule must have 1 to %d printable characters.", accessNameLength)
	case r.Rights == 0 || r.Rights&^allRights != 0:
		return accessError(r.Name, "The authorization rule '%s' needs at least one of the rights %s.", r.Name, strings.Join(rightNames, ", "))
	case len(r.PrimaryKey) > accessKeyLength || len(r.SecondaryKey) > accessKeyLength:
		return accessError(r.Name, "A key of the authorization rule '%s' is longer than %d bytes.", r.Name, accessKeyLength)
	case !printable(r.PrimaryKey) || !printable(r.SecondaryKey):
		return accessError(r.Name, "A key of the authorization rule '%s' contains characters that are not printable.", r.Name)
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func accessError(name, format string, args ...any) error {
	return &PropertyError{Property: AuthorizationRules, Value: name, Kind: ErrArgument, SubCode: 40000, Text: fmt.Sprintf(format, args...)}
}

// AuthorizationRules is the name of a description's access rules in errors and protocols. It
// is not a Property, because it has no text form.
const AuthorizationRules = "AuthorizationRules"

// SetEntityAccessRule is SetAccessRule for the rules in the description of a queue or topic.
func (ns *Namespace) SetEntityAccessRule(now Instant, p Path, r AccessRule, actor string) (AccessRule, error) {
	err := ns.updateEntityAccess(now, p, actor, func(rules []AccessRule) ([]AccessRule, error) {
		r.CreatedAt, r.UpdatedAt = now, now
		i := accessIndex(rules, r.Name)
		if i < 0 {
			return append(rules, r), nil
		}
		r = r.updating(rules[i])
		rules[i] = r
		return rules, nil
	})
	if err != nil {
		return AccessRule{}, err
	}
	return r, nil
}

// RegenerateEntityAccessKey is RegenerateAccessKey for the rules of a queue or topic.
func (ns *Namespace) RegenerateEntityAccessKey(now Instant, p Path, name string, which KeyKind, key, actor string) (r AccessRule, err error) {
	err = ns.updateEntityAccess(now, p, actor, func(rules []AccessRule) ([]AccessRule, error) {
		i := accessIndex(rules, name)
		if i < 0 {
			return nil, noAccessRule(name)
		}
		r = rules[i].withKey(now, which, key)
		rules[i] = r
		return rules, nil
	})
	return r, err
}

// RemoveEntityAccessRule is RemoveAccessRule for the rules of a queue or topic. All of them may
// be removed.
func (ns *Namespace) RemoveEntityAccessRule(now Instant, p Path, name, actor string) error {
	return ns.updateEntityAccess(now, p, actor, func(rules []AccessRule) ([]AccessRule, error) {
		i := accessIndex(rules, name)
		if i < 0 {
			return nil, noAccessRule(name)
		}
		return slices.Delete(rules, i, i+1), nil
	})
}

// updateEntityAccess replaces the access rules in an entity's description by the result of revise,
// which gets a copy of the present rules and may change it.
func (ns *Namespace) updateEntityAccess(now Instant, p Path, actor string, revise func([]AccessRule) ([]AccessRule, error)) error {
	e, err := ns.entityForAdmin(p)
	if err != nil {
		return err
	}
	c := e.Config
	if c.AuthorizationRules, err = revise(slices.Clone(c.AuthorizationRules)); err != nil {
		return err
	}
	_, err = ns.Update(now, p, c, actor)
	return err
}

// RootAccessRule is the name of the access rule that a namespace always has, with all rights.
const RootAccessRule = "RootManageSharedAccessKey"

// A KeyKind selects one of a rule's two keys.
type KeyKind uint8

// The keys of a rule. Both are valid at any time, so that clients can be moved from one to
// the other before it is regenerated.
const (
	PrimaryKey KeyKind = iota
	SecondaryKey
)

func (k KeyKind) String() string { return [...]string{"primary", "secondary"}[k] }

// AccessRules returns the namespace's own rules, sorted by name. The result must not be
// changed.
func (ns *Namespace) AccessRules() []AccessRule { return ns.access }

// EntityAccessRules returns the rules of an entity, which apply before the namespace's: those in
// its own description or, for a subscription, its topic's. It also reports whether the entity
// exists. The result must not be changed.
func (ns *Namespace) EntityAccessRules(p Path) (rules []AccessRule, there bool) {
	e := ns.entities[p.Entity().Fold()]
	if e == nil {
		return nil, false
	}
	return e.root().Config.AuthorizationRules, true
}

// SetAccessRule adds a rule to the namespace, or changes the rights and keys of the rule with
// that name. An empty key leaves that key as it was. The namespace sets the rule's times. It returns
// ErrNotAllowed for a RootAccessRule without ManageRight, and ErrQuota for a new rule beyond
// Limits.AccessRules.
func (ns *Namespace) SetAccessRule(now Instant, r AccessRule, actor string) (AccessRule, error) {
	was, known := FindAccessRule(ns.access, r.Name)
	did := CreatedAccess
	r.CreatedAt, r.UpdatedAt = now, now
	if known {
		did, r = UpdatedAccess, r.updating(was)
	}
	switch err := r.check(); {
	case err != nil:
		return AccessRule{}, err
	case strings.EqualFold(r.Name, RootAccessRule) && !r.Rights.Has(ManageRight):
		return AccessRule{}, Refuse(ErrNotAllowed, "The rights of the rule '%s' cannot be changed: it always has all rights.", RootAccessRule)
	case !known && int64(len(ns.access)) >= ns.limits.AccessRules:
		return AccessRule{}, Refuse(ErrQuota, "This namespace already has %d access rules, the maximum. Delete one first.", len(ns.access))
	}
	ns.setAccess(now, withAccessRule(ns.access, r), AccessAction{did, r.String()}, actor)
	return r, nil
}

// RegenerateAccessKey replaces one key of a rule of the namespace: tokens signed with the old key
// are invalid from then on.
func (ns *Namespace) RegenerateAccessKey(now Instant, name string, which KeyKind, key, actor string) (AccessRule, error) {
	r, ok := FindAccessRule(ns.access, name)
	if !ok {
		return AccessRule{}, noAccessRule(name)
	}
	if r = r.withKey(now, which, key); r.check() != nil {
		return AccessRule{}, r.check()
	}
	did := RegeneratedPrimaryKey
	if which == SecondaryKey {
		did = RegeneratedSecondaryKey
	}
	ns.setAccess(now, withAccessRule(ns.access, r), AccessAction{did, r.Name}, actor)
	return r, nil
}

// RemoveAccessRule removes a rule from the namespace. RootAccessRule cannot be removed.
func (ns *Namespace) RemoveAccessRule(now Instant, name, actor string) error {
	r, ok := FindAccessRule(ns.access, name)
	switch {
	case !ok:
		return noAccessRule(name)
	case strings.EqualFold(name, RootAccessRule):
		return Refuse(ErrNotAllowed, "The rule '%s' cannot be deleted. Regenerate its keys instead.", RootAccessRule)
	}
	ns.setAccess(now, slices.DeleteFunc(slices.Clone(ns.access), func(o AccessRule) bool { return o.Name == r.Name }), AccessAction{RemovedAccess, r.Name}, actor)
	return nil
}

func noAccessRule(name string) error {
	return Refuse(ErrNoAccessRule, "The access rule '%s' does not exist.", shorten.To(name, 64))
}

// withAccessRule returns a copy of rules, which are sorted by name, with r added or replacing the
// rule of the same name.
func withAccessRule(rules []AccessRule, r AccessRule) []AccessRule {
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

// setAccess replaces the namespace's rules, and records an audit event unless actor is empty, as for
// the root rule of a new namespace. Only setAccess changes the rules.
func (ns *Namespace) setAccess(now Instant, rules []AccessRule, what AccessAction, actor string) {
	before := ns.access
	ns.changes.addUndo(undo{kind: undoOther, other: func() { ns.access = before }})
	ns.access, ns.changes.access, ns.changes.hard = rules, true, true
	if actor == "" {
		return
	}
	ns.events = append(ns.events, Event{Kind: EventAccessChanged, At: now, Actor: actor, Reason: what.String()})
	ns.audit(&ns.events[len(ns.events)-1])
}
