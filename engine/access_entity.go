package engine

import "slices"

// SetAccessRuleOf is SetAccessRule for the rules of a queue or topic, which its
// description has.
func (ns *Namespace) SetAccessRuleOf(now Instant, p Path, r AccessRule, actor string) (AccessRule, error) {
	err := ns.reviseAccess(now, p, actor, func(rules []AccessRule) ([]AccessRule, error) {
		r.CreatedAt, r.UpdatedAt = now, now
		i := accessIndex(rules, r.Name)
		if i < 0 {
			return append(rules, r), nil
		}
		r = r.after(rules[i])
		rules[i] = r
		return rules, nil
	})
	if err != nil {
		return AccessRule{}, err
	}
	return r, nil
}

// RenewAccessKeyOf is RenewAccessKey for the rules of a queue or topic.
func (ns *Namespace) RenewAccessKeyOf(now Instant, p Path, name string, which KeyKind, key, actor string) (r AccessRule, err error) {
	err = ns.reviseAccess(now, p, actor, func(rules []AccessRule) ([]AccessRule, error) {
		i := accessIndex(rules, name)
		if i < 0 {
			return nil, noAccessRule(name)
		}
		r = rules[i].renewed(now, which, key)
		rules[i] = r
		return rules, nil
	})
	return r, err
}

// RemoveAccessRuleOf is RemoveAccessRule for the rules of a queue or topic, which
// may be left without any.
func (ns *Namespace) RemoveAccessRuleOf(now Instant, p Path, name, actor string) error {
	return ns.reviseAccess(now, p, actor, func(rules []AccessRule) ([]AccessRule, error) {
		i := accessIndex(rules, name)
		if i < 0 {
			return nil, noAccessRule(name)
		}
		return slices.Delete(rules, i, i+1), nil
	})
}

// reviseAccess updates an entity's description by what revise makes of a copy of
// its rules.
func (ns *Namespace) reviseAccess(now Instant, p Path, actor string, revise func([]AccessRule) ([]AccessRule, error)) error {
	e, err := ns.admin(p)
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
