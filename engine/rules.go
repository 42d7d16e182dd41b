package engine

import (
	"fmt"
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
	if e.ruleAt(r.Name) >= 0 { // whatever else there is to be said against it
		return ruleExists(e.Path, r)
	}
	r.Subscription, r.CreatedAt = e.ID, now
	plans, err := ns.admitRules(e.topic, nil, r)
	if err != nil {
		return err
	}
	ns.setRules(e, withRule(slices.Clone(e.rules), r), plans, nil)
	ns.touch(now, e, "add rule", actor)
	ns.audit(ns.entityEvent(EventRuleAdded, now, e, actor)).Reason = r.Name
	return nil
}

// ReplaceRule gives a rule another filter and action; its name stays (FILT-8).
func (ns *Namespace) ReplaceRule(now Instant, p Path, r Rule, actor string) error {
	e, err := ns.ruled(p)
	if err != nil {
		return err
	}
	at := e.ruleAt(r.Name)
	if at < 0 {
		return noRule(e, r.Name)
	}
	old := e.rules[at]
	r.Subscription, r.Name, r.CreatedAt = e.ID, old.Name, old.CreatedAt
	plans, err := ns.admitRules(e.topic, &old, r)
	if err != nil {
		return err
	}
	rules := slices.Clone(e.rules)
	rules[at] = r
	ns.setRules(e, rules, plans, &old)
	ns.touch(now, e, "replace rule", actor)
	ns.audit(ns.entityEvent(EventRuleReplaced, now, e, actor)).Reason = r.Name
	return nil
}

// admitRules decides whether a subscription of topic may have these rules,
// instead of another one or beside what there is, and makes their texts out.
func (ns *Namespace) admitRules(topic *entity, instead *Rule, rules ...Rule) ([]*planned, error) {
	named := map[string]bool{}
	plans := make([]*planned, 0, len(rules))
	sql, others := len(topic.selector.sql), topic.selector.others
	switch {
	case instead == nil:
	case instead.Filter.Kind == SQLFilter:
		sql--
	default:
		others--
	}
	for _, r := range rules {
		p, err := checkRule(r, ns.limits)
		if err != nil {
			return nil, err
		}
		if named[r.folded()] {
			return nil, ruleExists(topic.Path, r)
		}
		named[r.folded()] = true
		plans = append(plans, p)
		if p.sql != nil {
			sql++
		} else {
			others++
		}
	}
	return plans, ns.admitNumber(topic, sql, others)
}

// admitNumber refuses more rules than a topic may have (FILT-12).
func (ns *Namespace) admitNumber(topic *entity, sql, others int) error {
	switch {
	case int64(sql) > ns.limits.SQLFiltersPerTopic && sql > len(topic.selector.sql):
		return refuseCode(ErrQuota, 40501, "The topic '%s' has %d SQL filters and may have %d.", topic.Path, len(topic.selector.sql), ns.limits.SQLFiltersPerTopic)
	case int64(others) > ns.limits.OtherFiltersPerTopic && others > topic.selector.others:
		return refuseCode(ErrQuota, 40502, "The topic '%s' has %d correlation filters and may have %d.", topic.Path, topic.selector.others, ns.limits.OtherFiltersPerTopic)
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
	at := e.ruleAt(name)
	if at < 0 {
		return noRule(e, name)
	}
	old := e.rules[at]
	ns.setRules(e, slices.Delete(slices.Clone(e.rules), at, at+1), nil, &old)
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

// setRules is the one place where the rules of a subscription change: added
// are new, or stand for gone.
func (ns *Namespace) setRules(e *entity, rules []Rule, added []*planned, gone *Rule) {
	before, s := e.rules, &e.topic.selector
	var was *planned
	if gone != nil {
		was = s.rules[gone.id()]
		s.remove(gone.id())
		ns.changes.rules[gone.id()] = struct{}{}
	}
	for i, p := range added {
		added[i] = p.of(e)
		s.add(added[i])
		ns.changes.rules[p.id()] = struct{}{}
	}
	e.rules = rules
	ns.publish(e.topic)
	ns.changes.note(undo{kind: undoOther, other: func() {
		for _, p := range added {
			s.remove(p.id())
		}
		if was != nil {
			s.add(was)
		}
		e.rules = before
		ns.publish(e.topic)
	}})
	ns.changes.hard = true
}

func (e *entity) ruleAt(name string) int {
	at, ok := slices.BinarySearchFunc(e.rules, strings.ToLower(name), func(r Rule, name string) int { return strings.Compare(r.folded(), name) })
	if !ok {
		return -1
	}
	return at
}

func ruleExists(at Path, r Rule) error {
	return refuseCode(ErrExists, 40900, "'%s' has a rule '%s' already.", at, r.Name)
}

func noRule(e *entity, name string) error {
	return refuseCode(ErrNotFound, 40400, "The subscription '%s' has no rule '%s'.", e.Path, cut(name, 64))
}

func (ns *Namespace) rule(id RuleID) (Rule, bool) {
	if h := ns.holders[id.Subscription]; h != nil {
		if at := h.entity.ruleAt(id.Name); at >= 0 {
			return h.entity.rules[at], true
		}
	}
	return Rule{}, false
}

func (r Rule) id() RuleID { return RuleID{r.Subscription, r.folded()} }

func (r Rule) folded() string { return strings.ToLower(r.Name) }

// CheckRule tells whether a subscription may be given such a rule: its name, the
// length of its texts, and what they say (FILT-28, ACT-4).
func CheckRule(r Rule, l Limits) error {
	_, err := checkRule(r, l)
	return err
}

func checkRule(r Rule, l Limits) (*planned, error) {
	if err := CheckRuleName(r.Name, l); err != nil {
		return nil, err
	}
	if err := checkLength(r, PartAction, r.Action, l); err != nil {
		return nil, err
	}
	if r.Filter.Kind == SQLFilter {
		if err := checkLength(r, PartFilter, r.Filter.Text, l); err != nil {
			return nil, err
		}
	}
	return compile(r, l)
}

func checkLength(r Rule, part RulePart, text string, l Limits) error {
	if n := int64(utf8.RuneCountInString(text)); n > l.FilterLength {
		return ruleError(r, part, fmt.Errorf("it has %d characters; %d are allowed", n, l.FilterLength)) //nolint:err113 // RuleError is what callers look for
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
