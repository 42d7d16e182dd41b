package lab

import (
	"context"
	"slices"
	"time"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/send"
)

// A RuleKind is a kind of filter (semantics §14.2), as forms send it.
type RuleKind string

// The kinds. An empty one is unknown, and shown only by its text.
const (
	FilterTrue        RuleKind = "true"
	FilterFalse       RuleKind = "false"
	FilterSQL         RuleKind = "sql"
	FilterCorrelation RuleKind = "correlation"
)

// A Rule is a rule of a subscription for display.
type Rule struct {
	Name       string
	Kind       RuleKind
	Filter     string // as shown: "1=1", "sys.Label = 'red'"
	Parameters []send.Property
	Conditions []Condition // of a correlation filter; none means that Filter is shown
	Action     string      // empty means none
	Created    time.Time   // zero if not shown
	Now        time.Time
	Always     bool   // the true filter
	Wrong      string // why the engine would refuse it now, in the server's own words; empty if it would not
	Inert      bool   // it selects nothing, because it is wrong
	Edit       string // address of the form that changes it; empty if not possible
	Remove     string // address that removes it; empty if not possible
}

// A Condition of a correlation filter is a property and the value it must equal.
type Condition struct {
	Of    string // the system property, one of Correlated; empty means the application property Name
	Name  string
	Kind  string // of an application property: "int"; empty means string
	Value string
	Error component.Text // in a form: error of the row
}

// Correlated returns the system properties that correlation filters support, as in forms and
// rule descriptions (FILT-13).
func Correlated() []string {
	return []string{"Label", "MessageId", "CorrelationId", "SessionId", "ContentType", "To", "ReplyTo", "ReplyToSessionId"}
}

func (r Rule) kind() RuleKind {
	if r.Kind == "" && r.Always {
		return FilterTrue
	}
	return r.Kind
}

// word returns the text id of a kind, or "" for an unknown one.
func (k RuleKind) word() string {
	switch k {
	case FilterTrue:
		return "rule.kind.true"
	case FilterFalse:
		return "rule.kind.false"
	case FilterSQL:
		return "rule.kind.sql"
	case FilterCorrelation:
		return "rule.kind.correlation"
	default:
		return ""
	}
}

// note returns the text id of what a kind selects.
func (k RuleKind) note() string {
	switch k {
	case FilterTrue:
		return "rule.kind.true.note"
	case FilterFalse:
		return "rule.kind.false.note"
	case FilterSQL:
		return "rule.kind.sql.note"
	default:
		return "rule.kind.correlation.note"
	}
}

// name returns the property as a filter would write it.
func (c Condition) name() string {
	if c.Of != "" {
		return "sys." + c.Of
	}
	return c.Name
}

func (c Condition) kind() string {
	if c.Kind == "" {
		return "string"
	}
	return c.Kind
}

// systemName returns the label of a system property.
func systemName(ctx context.Context, of string) string {
	if of == "Label" {
		return locale.T(ctx, "rule.condition.label")
	}
	return of
}

// A RuleResult is the result of a rule for a message.
type RuleResult struct {
	Rule    string
	Href    string // address of the form that changes the rule; empty means none
	Kind    RuleKind
	Text    string          // of a FilterSQL filter, which contains the clauses
	Result  component.Truth // of the whole filter; empty if not tried
	Clauses []component.Clause
	Error   string // why the filter or its action failed, in the server's own words

	Action  string
	Changes []Change // what the action changed in the copy; none if the filter is not true
}

// A Change is a property before and after an action. If Before is Missing, it was added; if
// After is, it was removed.
type Change struct {
	Name          string
	Before, After component.Reading // their names are unused
}

// wrong returns how many clauses are not true. The number is only meaningful if all of them
// must hold.
func (j RuleResult) wrong() int {
	n := 0
	for _, c := range j.Clauses {
		if c.Result != component.True {
			n++
		}
	}
	return n
}

// summary returns the result in a few words.
func (j RuleResult) summary(ctx context.Context) string {
	n := j.wrong()
	switch {
	case j.Result == component.True && j.Error != "":
		return locale.T(ctx, "judge.action")
	case j.result() == component.Failed:
		return locale.T(ctx, "judge.failed")
	case j.Result == component.True:
		return locale.T(ctx, "judge.selected")
	case j.Kind == FilterCorrelation && n > 0:
		return locale.N(ctx, "judge.not", len(j.Clauses), locale.Args{"Wrong": locale.Number(ctx, n)})
	case j.Result == component.Unknown:
		return locale.T(ctx, "judge.unknown")
	case j.Kind == FilterSQL:
		return locale.T(ctx, "judge.false")
	default:
		return locale.T(ctx, "judge.none")
	}
}

// errorShown reports whether a clause already shows why the filter failed.
func (j RuleResult) errorShown() bool {
	return slices.ContainsFunc(j.Clauses, func(c component.Clause) bool { return c.Error == j.Error })
}

// result returns the result as a single value: a failed action counts as failed.
func (j RuleResult) result() component.Truth {
	if j.Error != "" {
		return component.Failed
	}
	return j.Result
}
