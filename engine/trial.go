package engine

import "mayfly/engine/filter"

// A Trial is what one rule says to a message that nobody sent.
type Trial struct {
	Rule    Rule
	Selects bool
	Err     error           // the filter, or the action of a rule that selects, could not be evaluated (FILT-31)
	Clauses []filter.Clause // of a SQL or correlation filter, in the order of its text
	After   *filter.Message // what its action makes of the message; nil if it makes nothing of it
}

// TryRule asks a rule, one of a subscription or one that is being written. Its
// errors say what of the rule cannot be read, as AddRule would.
func TryRule(r Rule, m filter.Message, l Limits) (Trial, error) {
	t := Trial{Rule: r}
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
			changed := FilterMessage(rewrite(Content{}, after, r.Name))
			t.After = &changed
		}
	}
	return t, nil
}

// Copies is how many copies a subscription with these trials gets, and how many
// of them are dead letters at once because a rule could not be evaluated.
func Copies(trials []Trial, c Config) (copies, dead int) {
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
