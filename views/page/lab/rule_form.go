package lab

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/send"
	"mayfly/views/view"
)

// RuleForm adds or changes a rule of a subscription, and tries it on a message before it is
// saved. It is not live: Shell.Live is left empty.
type RuleForm struct {
	Shell layout.Shell
	In    page.EntityRef // the subscription, with its name alone
	Topic page.EntityRef
	New   bool
	To    string // address that saves the rule, and returns the form again when rows are added
	// Try is the address that tries the rule: by POST with the same fields, returning this
	// page again. The script also posts there shortly after each key press.
	Try     string
	Rule    RuleFields
	Refused component.Notice // the error of the form as a whole; zero means none

	Message MessageFields
	Recent  []Sample // messages of the topic to start from, latest first
	Tried   RuleResult
	Dead    string // where a message goes if the filter fails on it: "prices/eu/$DLQ"; empty if it is not delivered
}

// RuleFields are the fields of a rule in a form.
type RuleFields struct {
	Name       string
	Kind       RuleKind // empty means everything
	SQL        string
	Parameters []send.Property
	Conditions []Condition // the page adds empty ones
	Action     string
	Kinds      []string // the types to choose from
	Most       int      // characters of a filter and of an action

	SQLFault, ActionFault component.SyntaxError     // positions of syntax errors
	Errors                map[string]component.Text // other errors, by the names of fields
}

// The fields of a rule. Conditions are rows: their number, and then "condition-0-of",
// "condition-0-name", "condition-0-type", "condition-0-value"; "of" is empty for an
// application property. Parameters are rows like Send's properties: "parameter-0-name" and so
// on.
const (
	RuleName            = "rule-name"
	RuleHow             = "rule-kind" // a RuleKind
	RuleSQL             = "rule-sql"
	RuleAction          = "rule-action"
	RuleConditionRows   = "condition-rows"
	RuleConditionPrefix = "condition-"
	RuleConditionOf     = "-of"
	RuleAddCondition    = "add-condition" // a submit button: returns the form with more rows
	RuleParameterRows   = "parameter-rows"
	RuleParameterPrefix = "parameter-"
	RuleAddParameter    = "add-parameter"
	RuleTake            = "take" // a submit button to Try, with the key of a Sample: fills in the message's fields from it
)

// MessageFields describe a message as filters see it: without its body (FILT-11). The names of
// the fields are those of Send.
type MessageFields struct {
	Values     map[string]string // by the names of fields
	Errors     map[string]component.Text
	Properties []send.Property // the page adds empty ones
	Kinds      []string
}

// A Sample is a message to start a trial from.
type Sample struct {
	Key     string // in decimal
	Subject string
	ID      string
	At      time.Time
	Now     time.Time
}

// Full returns the whole page.
func (m RuleForm) Full() templ.Component { return ruleForm(m) }

// Watches returns nil, because the page is not live.
func (m RuleForm) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m RuleForm) Parts() []view.Part { return m.Shell.Parts() }

func (m RuleForm) crumbs(ctx context.Context) []component.Crumb {
	last := locale.T(ctx, "rule.crumb.new")
	if !m.New {
		last = m.Rule.Name
	}
	return append(page.EntityCrumbs(ctx, m.Shell, page.Subscription, m.In.Name, m.In.Href, m.Topic.Name, m.Topic.Href),
		component.Crumb{Label: locale.T(ctx, "entity.tab.rules"), Href: m.In.Href + "?tab=" + string(page.TabRules)}, component.Crumb{Label: last})
}

func (f RuleFields) kind() RuleKind { return cmp.Or(f.Kind, FilterTrue) }

// rows returns the conditions with an empty row to fill in.
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

// systemFields are the system properties that filters see, by field.
var systemFields = []struct{ name, label string }{
	{send.SendSubject, "send.subject"}, {send.SendMessageID, "send.id"}, {send.SendCorrelationID, "send.correlation"}, {send.SendContentType, "send.type"},
	{send.SendSessionID, "send.session"}, {send.SendPartitionKey, "send.partition"}, {send.SendTo, "send.to"}, {send.SendReplyTo, "send.reply"}, {send.SendReplyToSession, "send.reply.session"},
}

// parameterEntries returns a table of a filter's @parameters.
func parameterEntries(rows []send.Property, kinds []string) send.EntryRows {
	return send.EntryRows{
		Prefix: RuleParameterPrefix, Count: RuleParameterRows, Add: RuleAddParameter, Label: "rule.parameter.add",
		Name: "rule.parameter.name.of", Kind: "rule.parameter.type.of", Value: "rule.parameter.value.of", Example: "@limit",
		Rows: send.WithEmpty(rows, 1), Kinds: kinds,
	}
}
