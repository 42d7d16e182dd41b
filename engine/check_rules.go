package engine

import (
	"maps"
	"slices"
)

// INVARIANT: what a topic's selector has is a function of the rules of its
// subscriptions.
func (ns *Namespace) checkSelector(e *entity) error {
	s := &e.selector
	rules := map[RuleID]bool{}
	for _, sub := range e.subs {
		if sub.aside != nil {
			return broken(sub.Path, "%d of its rules are aside", len(sub.aside))
		}
		for _, r := range sub.rules {
			p := s.rules[r.id()]
			if p == nil || p.sub != sub || p.Name != r.Name || p.Action != r.Action || !p.Filter.Equal(r.Filter) {
				return broken(sub.Path, "rule %q is not what its topic has", r.Name)
			}
			rules[r.id()] = true
		}
	}
	always, correlated, correlations, others := 0, 0, 0, 0
	for id, p := range s.rules {
		if !rules[id] {
			return broken(e.Path, "it has a rule %q that no subscription has", id.Name)
		}
		if p.Filter.Kind != SQLFilter {
			others++
		}
		if p.Filter.Kind == CorrelationFilter {
			correlations++
		}
		switch {
		case p.broken != nil:
		case p.correlation != nil:
			correlated++
		case p.sql != nil && !slices.Contains(s.sql, p):
			return broken(e.Path, "it does not ask rule %q", id.Name)
		case p.Filter.Kind == TrueFilter:
			always++
			if !slices.Contains(s.always, p) {
				return broken(e.Path, "rule %q does not always select", id.Name)
			}
		}
	}
	asked := 0
	if s.set != nil {
		asked = len(s.set.early) + len(s.set.late)
	}
	if len(s.always) != always || !slices.IsSortedFunc(s.always, byPlace) || s.correlated.Len() != correlated || len(s.sql) != asked || s.others != others || s.correlations != correlations ||
		len(s.sql) != len(slices.Collect(sqlOf(s.rules))) {
		return broken(e.Path, "%d true filters, %d correlation filters, %d SQL filters of which %d are asked, %d not SQL", len(s.always), s.correlated.Len(), len(s.sql), asked, s.others)
	}
	if ns.rulebook != nil && ns.rulebook.Of(e.Path) != s.set {
		return broken(e.Path, "the rulebook has other rules")
	}
	return nil
}

func sqlOf(rules map[RuleID]*planned) func(func(*planned) bool) {
	return func(yield func(*planned) bool) {
		for p := range maps.Values(rules) {
			if p.sql != nil && p.broken == nil && !yield(p) {
				return
			}
		}
	}
}
