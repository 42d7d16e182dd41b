package page

import (
	"context"
	"slices"
	"time"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// A RuleKind is how a rule selects (semantics §14.2), as forms send it.
type RuleKind string

// The kinds there are. An empty one is not known, and shown by its text alone.
const (
	Everything  RuleKind = "true"
	Nothing     RuleKind = "false"
	SQL         RuleKind = "sql"
	Correlation RuleKind = "correlation"
)

// A Rule decides what a subscription gets.
type Rule struct {
	Name       string
	Kind       RuleKind
	Filter     string // as shown: "1=1", "sys.Label = 'red'"
	Parameters []SendProperty
	Conditions []Condition // of a correlation filter; none: Filter is shown
	Action     string      // empty: none
	Created    time.Time   // zero: not shown
	Now        time.Time
	Always     bool   // the true filter
	Wrong      string // why it is refused now, in the server's own words; empty: it is not
	Inert      bool   // it selects nothing, because it is
	Edit       string // the form that changes it; empty: it cannot be changed
	Remove     string // the address that removes it; empty: it cannot be removed
}

// A Condition of a correlation filter is a property and what it must equal.
type Condition struct {
	Of    string // the system property, one of Correlated; empty: the application property Name
	Name  string
	Kind  string // of an application property: "int"; empty: string
	Value string
	Error component.Text // in a form: what is wrong with the row
}

// Correlated are the system properties that correlation filters know, as forms
// send them and descriptions name them (FILT-13).
func Correlated() []string {
	return []string{"Label", "MessageId", "CorrelationId", "SessionId", "ContentType", "To", "ReplyTo", "ReplyToSessionId"}
}

func (r Rule) kind() RuleKind {
	if r.Kind == "" && r.Always {
		return Everything
	}
	return r.Kind
}

// word is the id of what a kind is called; empty: of no kind.
func (k RuleKind) word() string {
	switch k {
	case Everything:
		return "rule.kind.true"
	case Nothing:
		return "rule.kind.false"
	case SQL:
		return "rule.kind.sql"
	case Correlation:
		return "rule.kind.correlation"
	default:
		return ""
	}
}

// note is the id of what a kind selects.
func (k RuleKind) note() string {
	switch k {
	case Everything:
		return "rule.kind.true.note"
	case Nothing:
		return "rule.kind.false.note"
	case SQL:
		return "rule.kind.sql.note"
	default:
		return "rule.kind.correlation.note"
	}
}

// name is the property as a filter would write it.
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

// systemName is what a system property is called in a choice.
func systemName(ctx context.Context, of string) string {
	if of == "Label" {
		return locale.T(ctx, "rule.condition.label")
	}
	return of
}

// A Judgement is what a rule makes of a message.
type Judgement struct {
	Rule    string
	Href    string // where the rule is changed; empty: nowhere
	Kind    RuleKind
	Text    string          // of an SQL filter, what its clauses lie in
	Result  component.Truth // of the whole filter; empty: it was not tried
	Clauses []component.Clause
	Error   string // why the filter, or its action, could not be carried out, in the server's own words

	Action  string
	Changes []Change // what the action made of the copy; of a filter that is not true, nothing
}

// A Change is a property before and after an action. One that is Missing
// before was added; after, removed.
type Change struct {
	Name          string
	Before, After component.Reading // their names are unused
}

// wrong are how many clauses are not true. It says something only where all of
// them are to hold.
func (j Judgement) wrong() int {
	n := 0
	for _, c := range j.Clauses {
		if c.Result != component.True {
			n++
		}
	}
	return n
}

// says tells the result in a few words.
func (j Judgement) says(ctx context.Context) string {
	n := j.wrong()
	switch {
	case j.Result == component.True && j.Error != "":
		return locale.T(ctx, "judge.action")
	case j.result() == component.Failed:
		return locale.T(ctx, "judge.failed")
	case j.Result == component.True:
		return locale.T(ctx, "judge.selected")
	case j.Kind == Correlation && n > 0:
		return locale.N(ctx, "judge.not", len(j.Clauses), locale.Args{"Wrong": locale.Number(ctx, n)})
	case j.Result == component.Unknown:
		return locale.T(ctx, "judge.unknown")
	case j.Kind == SQL:
		return locale.T(ctx, "judge.false")
	default:
		return locale.T(ctx, "judge.none")
	}
}

// told says whether a clause tells already why it failed.
func (j Judgement) told() bool {
	return slices.ContainsFunc(j.Clauses, func(c component.Clause) bool { return c.Error == j.Error })
}

// result is the judgement in one truth: an action that failed counts as one.
func (j Judgement) result() component.Truth {
	if j.Error != "" {
		return component.Failed
	}
	return j.Result
}
