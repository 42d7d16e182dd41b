package engine

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// AddRule gives a subscription one more rule (FILT-7, STAT-9, IDLE-4).
func (ns *Namespace) AddRule(now Instant, p Path, r Rule, actor string) error {
	e, err := ns.ruled(p)
	if err != nil {
		return err
	}
	r.Subscription, r.CreatedAt = e.ID, now
	if err := ns.admitRules(e.topic, e, r); err != nil {
		return err
	}
	ns.setRules(e, withRule(slices.Clone(e.rules), r), r.id())
	ns.touch(now, e, "add rule", actor)
	ns.audit(ns.entityEvent(EventRuleAdded, now, e, actor)).Reason = r.Name
	return nil
}

// admitRules decides whether a subscription of topic, nil for a new one, may
// have these rules beside its own.
func (ns *Namespace) admitRules(topic, sub *entity, rules ...Rule) error {
	named := map[string]bool{}
	at := topic.Path
	if sub != nil {
		at = sub.Path
		for _, r := range sub.rules {
			named[strings.ToLower(r.Name)] = true
		}
	}
	for _, r := range rules {
		if err := CheckRule(r, ns.limits); err != nil {
			return err
		}
		key := strings.ToLower(r.Name)
		if named[key] {
			return refuseCode(ErrExists, 40900, "'%s' has a rule '%s' already.", at, r.Name)
		}
		named[key] = true
	}
	total := 0
	for _, s := range topic.subs {
		total += len(s.rules)
	}
	if int64(total+len(rules)) > ns.limits.OtherFiltersPerTopic {
		return refuseCode(ErrQuota, 40502, "The topic '%s' has %d rules and may have %d.", topic.Path, total, ns.limits.OtherFiltersPerTopic)
	}
	return nil
}

// withRule is rules with r at its place by folded name; it may write to the
// list it is given.
func withRule(rules []Rule, r Rule) []Rule {
	at, _ := slices.BinarySearchFunc(rules, r, func(a, b Rule) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return slices.Insert(rules, at, r)
}

// RemoveRule takes a rule from a subscription (FILT-7, STAT-9).
func (ns *Namespace) RemoveRule(now Instant, p Path, name, actor string) error {
	e, err := ns.ruled(p)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(e.rules, func(o Rule) bool { return strings.EqualFold(o.Name, name) })
	if at < 0 {
		return refuseCode(ErrNotFound, 40400, "The subscription '%s' has no rule '%s'.", e.Path, cut(name, 64))
	}
	ns.setRules(e, slices.Delete(slices.Clone(e.rules), at, at+1), e.rules[at].id())
	ns.touch(now, e, "remove rule", actor)
	ns.audit(ns.entityEvent(EventRuleRemoved, now, e, actor)).Reason = name
	return nil
}

func (ns *Namespace) ruled(p Path) (*entity, error) {
	e, err := ns.admin(p)
	switch {
	case err != nil:
		return nil, err
	case e.Kind != Subscription:
		return nil, hasNoRules(e.Path, e.Kind)
	case e.Config.Status == StatusDisabled || e.topic.Config.Status == StatusDisabled:
		return nil, refuseCode(ErrDisabled, 40000, "Rules of '%s' cannot change while it or its topic is disabled.", e.Path)
	default:
		return e, nil
	}
}

func hasNoRules(p Path, kind EntityKind) error {
	return refuseCode(ErrNotAllowed, 40301, "'%s' is a %s and has no rules.", p, kind)
}

func (ns *Namespace) setRules(e *entity, rules []Rule, changed RuleID) {
	before := e.rules
	ns.changes.note(undo{kind: undoOther, other: func() { e.rules = before }})
	e.rules = rules
	ns.changes.rules[changed] = struct{}{}
	ns.changes.hard = true
}

func (ns *Namespace) rule(id RuleID) (Rule, bool) {
	if h := ns.holders[id.Subscription]; h != nil {
		for _, r := range h.entity.rules {
			if r.id() == id {
				return r, true
			}
		}
	}
	return Rule{}, false
}

func (r Rule) id() RuleID { return RuleID{r.Subscription, strings.ToLower(r.Name)} }

// CheckRule tells whether a subscription may be given such a rule: its name,
// and the length of its filter's or action's text.
func CheckRule(r Rule, l Limits) error {
	if err := CheckRuleName(r.Name, l); err != nil {
		return err
	}
	texts := map[string]string{"action": r.Action}
	if r.Filter.Kind == SQLFilter {
		texts["filter"] = r.Filter.Text
	}
	for what, text := range texts {
		if n := int64(utf8.RuneCountInString(text)); n > l.FilterLength {
			return refuseCode(ErrArgument, 40000, "The %s of rule '%s' has %d characters; %d are allowed.", what, r.Name, n, l.FilterLength)
		}
	}
	return nil
}

// CheckRuleName tells whether a rule may be called name (NAME-2, NAME-3); it
// may begin with a dollar sign, as $Default does.
func CheckRuleName(name string, l Limits) error {
	if n := int64(utf8.RuneCountInString(name)); n < 1 || n > l.SubscriptionNameLength {
		return refuseCode(ErrArgument, 40000, "The name of a rule has 1 to %d characters; this one has %d.", l.SubscriptionNameLength, n)
	}
	if err := CheckName(Subscription, strings.TrimPrefix(name, "$"), l); err != nil {
		return refuseCode(ErrArgument, 40000, "'%s' cannot be the name of a rule: it consists of letters, digits, '.', '-', '_' and '~', and begins and ends with a letter or digit.", cut(name, 64))
	}
	return nil
}
