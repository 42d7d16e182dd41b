package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mayfly/engine/filter"
	"mayfly/engine/shorten"
)

// AddRule adds a rule to a subscription (FILT-7, STAT-9, IDLE-4).
func (ns *Namespace) AddRule(now Instant, p Path, r Rule, actor string) error {
	e, err := ns.subscriptionWithRules(p)
	if err != nil {
		return err
	}
	if e.ruleAt(r.Name) >= 0 { // takes precedence over other errors
		return RefuseCode(ErrExists, 40900, "The messaging entity '%s' already exists.", ns.limits.ruleEntity(e.Path, r.Name))
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

// ReplaceRule replaces the filter and action of a rule; its name stays (FILT-8).
func (ns *Namespace) ReplaceRule(now Instant, p Path, r Rule, actor string) error {
	e, err := ns.subscriptionWithRules(p)
	if err != nil {
		return err
	}
	at := e.ruleAt(r.Name)
	if at < 0 {
		return NoRule(ns.limits, e.Path, r.Name)
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

// admitRules checks whether a subscription of topic may have these rules in addition to its present
// ones, or in place of the rule `instead` if that is not nil, and compiles them.
func (ns *Namespace) admitRules(topic *entity, instead *Rule, rules ...Rule) ([]*compiledRule, error) {
	named := map[string]bool{}
	plans := make([]*compiledRule, 0, len(rules))
	sql, others := len(topic.ruleIndex.sql), topic.ruleIndex.others
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
			return nil, RefuseCode(ErrExists, 40900, "The rule '%s' is given twice for one subscription of '%s'.", r.Name, topic.Path)
		}
		named[r.folded()] = true
		plans = append(plans, p)
		if p.sql != nil {
			sql++
		} else {
			others++
		}
	}
	if err := ns.admitNumber(topic, sql, others); err != nil {
		return nil, err
	}
	room := int64(0)
	for _, p := range plans {
		room += p.memory()
	}
	if instead != nil {
		room -= topic.ruleIndex.rules[instead.id()].memory()
	}
	return plans, ns.admitMemory(room)
}

// admitNumber returns an error if a topic would have more rules than it may (FILT-12).
func (ns *Namespace) admitNumber(topic *entity, sql, others int) error {
	switch {
	case int64(sql) > ns.limits.SQLFiltersPerTopic && sql > len(topic.ruleIndex.sql):
		return RefuseCode(ErrQuota, 40501, "The topic '%s' has %d SQL filters; the maximum is %d.", topic.Path, len(topic.ruleIndex.sql), ns.limits.SQLFiltersPerTopic)
	case int64(others) > ns.limits.OtherFiltersPerTopic && others > topic.ruleIndex.others:
		return RefuseCode(ErrQuota, 40502, "The topic '%s' has %d correlation filters; the maximum is %d.", topic.Path, topic.ruleIndex.others, ns.limits.OtherFiltersPerTopic)
	}
	return nil
}

// withRule inserts r into rules, which are sorted by folded name; it may modify the list.
func withRule(rules []Rule, r Rule) []Rule {
	at, _ := slices.BinarySearchFunc(rules, r, func(a, b Rule) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return slices.Insert(rules, at, r)
}

// RemoveRule removes a rule from a subscription (FILT-7, STAT-9).
func (ns *Namespace) RemoveRule(now Instant, p Path, name, actor string) error {
	e, err := ns.subscriptionWithRules(p)
	if err != nil {
		return err
	}
	at := e.ruleAt(name)
	if at < 0 {
		return NoRule(ns.limits, e.Path, name)
	}
	old := e.rules[at]
	ns.setRules(e, slices.Delete(slices.Clone(e.rules), at, at+1), nil, &old)
	ns.touch(now, e, "remove rule", actor)
	ns.audit(ns.entityEvent(EventRuleRemoved, now, e, actor)).Reason = name
	return nil
}

func (ns *Namespace) subscriptionWithRules(p Path) (*entity, error) {
	e, err := ns.entityForAdmin(p)
	switch {
	case err != nil:
		return nil, err
	case e.Kind != Subscription:
		return nil, hasNoRules(e.Path, e.Kind)
	case e.Config.Status == StatusDisabled || e.topic.Config.Status == StatusDisabled:
		return nil, RefuseCode(ErrDisabled, 40000, "Rules of '%s' cannot change while it or its topic is disabled.", e.Path)
	default:
		return e, nil
	}
}

func hasNoRules(p Path, kind EntityKind) error {
	return RefuseCode(ErrNotAllowed, 40301, "'%s' is a %s. Only subscriptions have rules.", p, kind)
}

// setRules replaces the list of e's rules by `rules`, and updates the indexes of its topic: it adds
// the rules in `added` and removes `gone`, unless that is nil. It binds the items of `added` to e.
func (ns *Namespace) setRules(e *entity, rules []Rule, added []*compiledRule, gone *Rule) {
	before, s := e.rules, &e.topic.ruleIndex
	var was *compiledRule
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
	ns.updateRulebook(e.topic)
	ns.changes.addUndo(undo{kind: undoOther, other: func() {
		for _, p := range added {
			s.remove(p.id())
		}
		if was != nil {
			s.add(was)
		}
		e.rules = before
		ns.updateRulebook(e.topic)
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

// NoRule returns the error for a rule that a subscription does not have, in a text that
// clients know: JavaScript's and Java's SDKs match "The messaging entity … could not be
// found".
func NoRule(l Limits, subscription Path, name string) error {
	return RefuseCode(ErrNotFound, 40400, "The messaging entity '%s' could not be found.", l.ruleEntity(subscription, name))
}

// ruleEntity returns the name that the service uses for a rule in its errors.
func (l *Limits) ruleEntity(subscription Path, name string) string {
	topic, of, _ := subscription.Subscription()
	return fmt.Sprintf("%s:Topic:%s|%s|%s", cmp.Or(l.Namespace, "default"), topic, of, shorten.To(name, 64))
}

func (ns *Namespace) rule(id RuleID) (Rule, bool) {
	if h := ns.subqueues[id.Subscription]; h != nil {
		if at := h.entity.ruleAt(id.Name); at >= 0 {
			return h.entity.rules[at], true
		}
	}
	return Rule{}, false
}

func (r Rule) id() RuleID { return RuleID{r.Subscription, r.folded()} }

func (r Rule) folded() string { return strings.ToLower(r.Name) }

// CheckRule returns an error if r's name, or the length or syntax of its filter and action, is
// invalid (FILT-28, ACT-4).
func CheckRule(r Rule, l Limits) error {
	_, err := checkRule(r, l)
	return err
}

func checkRule(r Rule, l Limits) (*compiledRule, error) {
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
		return ruleError(r, part, fmt.Errorf("it has %d characters; the maximum is %d", n, l.FilterLength))
	}
	return nil
}

// CheckRuleName returns an error unless a rule may have name (NAME-2, NAME-3, NAME-5).
// Names of rules may begin with a dollar sign, as $Default does.
func CheckRuleName(name string, l Limits) error {
	if n := int64(utf8.RuneCountInString(name)); n < 1 || n > l.SubscriptionNameLength {
		return RefuseCode(ErrArgument, 40000, "The name of a rule must have 1 to %d characters, not %d.", l.SubscriptionNameLength, n)
	}
	if err := CheckName(Subscription, strings.TrimPrefix(name, "$"), l); err != nil {
		return RefuseCode(ErrArgument, 40000, "'%s' cannot be the name of a rule. Use letters, digits, '.', '-', '_' and '~', with an optional '$' at the beginning.", shorten.To(name, 64))
	}
	return nil
}

// A RuleTrial is the result of one rule for a message that was not sent.
type RuleTrial struct {
	Rule    Rule
	Selects bool
	Err     error           // the filter, or the action of a rule that selects, could not be evaluated (FILT-31)
	Clauses []filter.Clause // of a SQL or correlation filter, in the order of its text
	After   *filter.Message // the message after the action; nil if there is none or it was not applied
}

// TryRule evaluates a rule, existing or being edited. It returns the error that AddRule would
// return for a rule that cannot be compiled.
func TryRule(r Rule, m filter.Message, l Limits) (RuleTrial, error) {
	t := RuleTrial{Rule: r}
	p, err := compile(r, l)
	if err != nil {
		return t, err
	}
	switch {
	case p.correlation != nil:
		t.Selects, t.Clauses = p.correlation.Matches(&m), p.correlation.Explain(&m)
	case p.sql != nil:
		t.Selects, t.Err = p.sql.Matches(&m)
		t.Clauses = p.sql.Explain(&m)
	default:
		t.Selects = r.Filter.Kind == TrueFilter
	}
	if t.Selects && p.action != nil {
		var after filter.Message
		if after, t.Err = p.action.Apply(m); t.Err == nil {
			changed := NewFilterMessage(rewriteContent(Content{}, after, r.Name))
			t.After = &changed
		}
	}
	return t, nil
}

// CountCopies returns how many copies of a message a subscription gets, given the trials of its
// rules, and how many of them are dead-lettered at once because a rule could not be evaluated.
func CountCopies(trials []RuleTrial, c Config) (copies, dead int) {
	plain, failed := 0, 0
	for _, t := range trials {
		switch {
		case t.Err != nil && t.Selects: // its action failed
			dead++
		case t.Err != nil:
			failed = 1
		case t.Selects && t.After != nil:
			copies++
		case t.Selects:
			plain = 1
		}
	}
	if c.IgnoreFilterExceptions {
		return copies + plain, 0
	}
	dead += failed
	return copies + plain + dead, dead
}
