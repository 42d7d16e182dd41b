package page

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// RuleForm adds a rule to a subscription or changes one, and tries it on a
// message before it is kept. It stands still: Shell.Live is left empty.
type RuleForm struct {
	Shell layout.Shell
	In    Place // the subscription, with its name alone
	Topic Place
	New   bool
	To    string // the address that keeps the rule, and answers with the form again when rows are added
	// Try is the address that tries it: by POST with the same fields, answered
	// with this page again. It is asked too a moment after each key where the
	// script runs.
	Try     string
	Rule    RuleFields
	Refused component.Notice // what was wrong, above the form; zero: nothing

	Message MessageFields
	Recent  []Sample // messages of the topic to start from, latest first
	Tried   Judgement
	Dead    string // where a message goes that the filter fails on: "prices/eu/$DLQ"; empty: it is left out
}

// RuleFields are a rule as a form asks for it.
type RuleFields struct {
	Name       string
	Kind       RuleKind // empty: everything
	SQL        string
	Parameters []SendProperty
	Conditions []Condition // the page adds empty ones
	Action     string
	Kinds      []string // the types to choose from
	Most       int      // characters of a filter and of an action

	SQLFault, ActionFault component.Fault           // where the texts cannot be read
	Errors                map[string]component.Text // what else is wrong, by the names of fields
}

// The names of the fields of a rule. Conditions are rows: their number, and
// then "condition-0-of", "condition-0-name", "condition-0-type",
// "condition-0-value"; "of" is empty for an application property. Parameters
// are rows as Send's properties are, "parameter-0-name" and so on.
const (
	RuleName            = "rule-name"
	RuleHow             = "rule-kind" // a RuleKind
	RuleSQL             = "rule-sql"
	RuleAction          = "rule-action"
	RuleConditionRows   = "condition-rows"
	RuleConditionPrefix = "condition-"
	RuleConditionOf     = "-of"
	RuleAddCondition    = "add-condition" // a submit: the form again with more rows
	RuleParameterRows   = "parameter-rows"
	RuleParameterPrefix = "parameter-"
	RuleAddParameter    = "add-parameter"
	RuleTake            = "take" // a submit to Try, with the key of a Sample: the message's fields filled from it
)

// MessageFields describe a message as filters see it: without its body
// (FILT-11). The names of the fields are those of Send.
type MessageFields struct {
	Values     map[string]string // by the names of fields
	Errors     map[string]component.Text
	Properties []SendProperty // the page adds empty ones
	Kinds      []string
}

// A Sample is a message that a test can start from.
type Sample struct {
	Key     string // in decimal
	Subject string
	ID      string
	At      time.Time
	Now     time.Time
}

// Full is the page.
func (m RuleForm) Full() templ.Component { return ruleForm(m) }

// Watches is nil; the page stands still.
func (m RuleForm) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m RuleForm) Parts() []view.Part { return m.Shell.Parts() }

func (m RuleForm) crumbs(ctx context.Context) []component.Crumb {
	last := locale.T(ctx, "rule.crumb.new")
	if !m.New {
		last = m.Rule.Name
	}
	return append(placeCrumbs(ctx, m.Shell, Subscription, m.In.Name, m.In.Href, m.Topic.Name, m.Topic.Href),
		component.Crumb{Label: locale.T(ctx, "entity.tab.rules"), Href: m.In.Href + "?tab=" + string(Ruling)}, component.Crumb{Label: last})
}

func (f RuleFields) kind() RuleKind { return cmp.Or(f.Kind, Everything) }

// rows are the conditions with an empty one to fill in.
func (f RuleFields) rows() []Condition {
	rows := slices.Clip(f.Conditions)
	for _, c := range rows {
		if c == (Condition{Of: c.Of, Kind: c.Kind}) {
			return rows
		}
	}
	return append(rows, Condition{})
}

func (f RuleFields) most(ctx context.Context) string {
	return locale.Number(ctx, cmp.Or(f.Most, 1024))
}

func (s Sample) what(ctx context.Context) string {
	return cmp.Or(s.Subject, s.ID, locale.T(ctx, "message.unnamed"))
}

func (s Sample) small() string {
	if s.Subject == "" {
		return ""
	}
	return s.ID
}

// systemFields are the system properties that filters see, by their field.
func systemFields() []struct{ name, label string } {
	return []struct{ name, label string }{
		{SendSubject, "send.subject"}, {SendMessageID, "send.id"}, {SendCorrelationID, "send.correlation"}, {SendContentType, "send.type"},
		{SendSessionID, "send.session"}, {SendPartitionKey, "send.partition"}, {SendTo, "send.to"}, {SendReplyTo, "send.reply"}, {SendReplyToSession, "send.reply.session"},
	}
}
