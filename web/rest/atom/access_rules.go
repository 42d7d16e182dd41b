package atom

import (
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
)

// readAccess parses the authorization rules of a description. `was` holds the entity's present
// rules. A rule in the description that lacks a key keeps the key that it has in `was`, or gets a
// new one.
func readAccess(n *node, was []engine.AccessRule) ([]engine.AccessRule, error) {
	var rules []engine.AccessRule
	for _, one := range n.all("AuthorizationRule") {
		if err := one.unique(); err != nil {
			return nil, err
		}
		r := engine.AccessRule{Name: strings.TrimSpace(one.value("KeyName")), PrimaryKey: one.value("PrimaryKey"), SecondaryKey: one.value("SecondaryKey")}
		var names []string
		for _, right := range one.child("Rights").all("AccessRights") {
			names = append(names, right.text)
		}
		var err error
		if r.Rights, err = engine.ParseRights(names); err != nil {
			return nil, err
		}
		for name, at := range map[string]*engine.Instant{"CreatedTime": &r.CreatedAt, "ModifiedTime": &r.UpdatedAt} {
			if *at, err = readInstant(one.value(name)); err != nil {
				return nil, engine.Refuse(engine.ErrArgument, "The %s of the authorization rule '%s' is not a time: %v.", name, shorten.Quote(r.Name), err)
			}
		}
		old, _ := engine.FindAccessRule(was, r.Name)
		for key, before := range map[*string]string{&r.PrimaryKey: old.PrimaryKey, &r.SecondaryKey: old.SecondaryKey} {
			if *key == "" {
				*key = before
			}
			if *key == "" {
				*key = broker.NewAccessKey()
			}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// readInstant parses a time. It returns the zero Instant for an empty text and for .NET's zero
// time.
func readInstant(text string) (engine.Instant, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	v, err := readTime(text)
	if err != nil {
		return 0, err
	}
	ms, _ := v.Millis()
	if at := time.UnixMilli(ms); at.Year() > 1 {
		return engine.At(at), nil
	}
	return 0, nil
}

// encodeAccess returns the AuthorizationRules element. It omits times that are not set.
func encodeAccess(rules []engine.AccessRule) *element {
	list := plain(engine.AuthorizationRules, "")
	for _, r := range rules {
		rights := plain("Rights", "")
		for _, name := range r.Rights.Names() {
			rights.append(plain("AccessRights", name))
		}
		one := typed("AuthorizationRule", "SharedAccessAuthorizationRule").append(plain("ClaimType", "SharedAccessKey"), plain("ClaimValue", "None"), rights)
		for _, t := range []struct {
			name string
			at   engine.Instant
		}{{"CreatedTime", r.CreatedAt}, {"ModifiedTime", r.UpdatedAt}} {
			if t.at != 0 {
				one.append(plain(t.name, moment(t.at.Time())))
			}
		}
		list.append(one.append(plain("KeyName", r.Name), plain("PrimaryKey", r.PrimaryKey), plain("SecondaryKey", r.SecondaryKey)))
	}
	return list
}
