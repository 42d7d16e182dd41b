package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rights are what an access rule allows, a set of bits.
type Rights uint8

// The rights of Service Bus.
const (
	ListenRight Rights = 1 << iota
	SendRight
	ManageRight // brings the others along

	allRights = ListenRight | SendRight | ManageRight
)

// rightNames are in the order of Service Bus.
func rightNames() []string { return []string{"Listen", "Send", "Manage"} }

// Has tells whether all of want is allowed.
func (r Rights) Has(want Rights) bool { return r&ManageRight != 0 || r&want == want }

// Names are what the rights are called, in the order Listen, Send, Manage.
func (r Rights) Names() (names []string) {
	for i, name := range rightNames() {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (r Rights) String() string { return strings.Join(r.Names(), ",") }

// ParseRights reads names of rights, in any case and order. The error is
// ErrArgument.
func ParseRights(names []string) (r Rights, err error) {
	for _, name := range names {
		i := slices.IndexFunc(rightNames(), func(known string) bool { return strings.EqualFold(known, strings.TrimSpace(name)) })
		if i < 0 {
			return 0, wrongAccess(cut(name, 64), "There is no right called '%s'; there are %s.", cut(name, 64), strings.Join(rightNames(), ", "))
		}
		r |= 1 << i
	}
	return r, nil
}

// An AccessRule is a named pair of keys, either of which allows what Rights
// say: at one entity if it stands in its description, at all of them if it is
// the namespace's. An empty key opens nothing.
type AccessRule struct {
	Name         string
	Rights       Rights
	PrimaryKey   string
	SecondaryKey string
	CreatedAt    Instant // zero: not told
	UpdatedAt    Instant // zero: not told
}

// String tells no key, so that none gets into a log.
func (r AccessRule) String() string { return fmt.Sprintf("%s (%s)", r.Name, r.Rights) }

// GoString tells no key either.
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

// after is r as what becomes of was, whose name, age and keys stay unless r has
// others.
func (r AccessRule) after(was AccessRule) AccessRule {
	r.Name, r.CreatedAt = was.Name, was.CreatedAt
	r.PrimaryKey, r.SecondaryKey = cmp.Or(r.PrimaryKey, was.PrimaryKey), cmp.Or(r.SecondaryKey, was.SecondaryKey)
	return r
}

// renewed is r with another key.
func (r AccessRule) renewed(now Instant, which KeyKind, key string) AccessRule {
	if which == PrimaryKey {
		r.PrimaryKey = key
	} else {
		r.SecondaryKey = key
	}
	r.UpdatedAt = max(now, r.CreatedAt)
	return r
}

// How long names and keys of access rules may be at most, as SDKs have it, in
// characters and bytes.
const (
	accessNameLength = 256
	accessKeyLength  = 256
)

// checkAccess wants rules that can be told apart, no more than there may be, and
// none of a subscription, which is its topic's affair. What was there before may
// stay.
func (l Limits) checkAccess(kind EntityKind, was, rules []AccessRule) error {
	if slices.Equal(was, rules) {
		return nil
	}
	if kind == Subscription {
		return wrongAccess("", "A subscription has no authorization rules of its own: its topic's apply.")
	}
	if int64(len(rules)) > l.AccessRules {
		return wrongAccess("", "An entity has at most %d authorization rules; these are %d.", l.AccessRules, len(rules))
	}
	for i, r := range rules {
		if err := r.check(); err != nil {
			return err
		}
		if _, twice := FindAccessRule(rules[:i], r.Name); twice {
			return wrongAccess(r.Name, "There are two authorization rules called '%s'; case does not matter.", r.Name)
		}
	}
	return nil
}

func (r AccessRule) check() error {
	switch {
	case r.Name == "" || utf8.RuneCountInString(r.Name) > accessNameLength || !printable(r.Name):
		return wrongAccess(cut(r.Name, 64), "The name of an authorization rule has 1 to %d characters that can be printed.", accessNameLength)
	case r.Rights == 0 || r.Rights&^allRights != 0:
		return wrongAccess(r.Name, "The authorization rule '%s' needs at least one right of %s.", r.Name, strings.Join(rightNames(), ", "))
	case len(r.PrimaryKey) > accessKeyLength || len(r.SecondaryKey) > accessKeyLength:
		return wrongAccess(r.Name, "A key of the authorization rule '%s' is longer than %d bytes.", r.Name, accessKeyLength)
	case !printable(r.PrimaryKey) || !printable(r.SecondaryKey):
		return wrongAccess(r.Name, "A key of the authorization rule '%s' has characters that cannot be printed.", r.Name)
	}
	return nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func wrongAccess(name, format string, args ...any) error {
	return &PropertyError{Property: AuthorizationRules, Value: name, Kind: ErrArgument, SubCode: 40000, Text: fmt.Sprintf(format, args...)}
}

// AuthorizationRules is what doors call the access rules of a description. It
// is no Property, for it has no text.
const AuthorizationRules = "AuthorizationRules"
