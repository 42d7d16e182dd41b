package lab

import (
	"context"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/lab"
	"mayfly/views/page/send"
	"mayfly/web/dashboard/pages"
)

// ParseRuleName reads the name of a new rule. An error goes to t.Errors.
func ParseRuleName(t pages.FormState, l engine.Limits) string {
	name := strings.TrimSpace(t.Values.Get(lab.RuleName))
	if err := engine.CheckRuleName(name, l); err != nil {
		t.Errors[lab.RuleName] = component.ServerText(err.Error())
	}
	return name
}

// ParseRule reads the fields of a rule, except its name. Errors go to t.Errors and t.SyntaxErrors by
// field, in the engine's words.
func ParseRule(ctx context.Context, t *pages.FormState, l engine.Limits) engine.Rule {
	t.SyntaxErrors = map[string]component.SyntaxError{}
	var r engine.Rule
	if action := UnixLines(t.Values.Get(lab.RuleAction)); strings.TrimSpace(action) != "" {
		r.Action = action
	}
	kind, ok := filterKinds[lab.RuleKind(t.Values.Get(lab.RuleHow))]
	if !ok {
		t.Errors[lab.RuleHow] = component.Text{S: locale.T(ctx, "ui.rule.kind")}
	}
	r.Filter.Kind = kind
	switch kind {
	case engine.SQLFilter:
		r.Filter.Text = UnixLines(t.Values.Get(lab.RuleSQL))
	case engine.CorrelationFilter:
		r.Filter.Text = parseConditions(ctx, t)
	}
	if kind == engine.SQLFilter || strings.Contains(r.Action, "@") { // an action can use the rule's parameters too
		r.Filter.Parameters = parseParameters(ctx, t)
	}
	t.SetRuleErrors(r, l)
	return r
}

// UnixLines replaces the CRLF line ends that browsers send with LF, as texts are stored.
func UnixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// filterKinds maps the words of forms to kinds of filters. A form without a word selects the true
// filter.
var filterKinds = map[lab.RuleKind]engine.FilterKind{
	"": engine.TrueFilter, lab.FilterTrue: engine.TrueFilter, lab.FilterFalse: engine.FalseFilter,
	lab.FilterSQL: engine.SQLFilter, lab.FilterCorrelation: engine.CorrelationFilter,
}

// RuleKind returns the word for a kind of filter in forms, or "" for a kind added by a later
// version.
func RuleKind(k engine.FilterKind) lab.RuleKind {
	switch k {
	case engine.TrueFilter:
		return lab.FilterTrue
	case engine.FalseFilter:
		return lab.FilterFalse
	case engine.CorrelationFilter:
		return lab.FilterCorrelation
	case engine.SQLFilter:
		return lab.FilterSQL
	default:
		return ""
	}
}

// parseParameters reads the parameters of a rule. Their names get the leading @ if it was not
// typed (FILT-25).
func parseParameters(ctx context.Context, t *pages.FormState) value.Properties {
	t.LimitRows(ctx, lab.RuleParameterPrefix, lab.RuleSQL)
	all := pages.ParseRows(ctx, *t, lab.RuleParameterPrefix)
	for i := range all {
		if !strings.HasPrefix(all[i].Name, "@") {
			all[i].Name = "@" + all[i].Name
		}
		if _, twice := all[:i].LookupFold(all[i].Name); twice {
			t.SetError(lab.RuleSQL, component.Text{S: locale.T(ctx, "ui.rule.twice", locale.Args{"Name": shorten.To(all[i].Name, 64)})})
		}
	}
	return all
}

// submittedConditions returns the rows of conditions of a submitted form.
func submittedConditions(t pages.FormState) (rows []lab.Condition) {
	for i := range pages.MaxRowsRead {
		field := lab.RuleConditionPrefix + strconv.Itoa(i)
		if !t.Values.Has(field+send.SendPropertyName) && !t.Values.Has(field+send.SendPropertyValue) {
			break
		}
		rows = append(rows, lab.Condition{
			Of:   t.Values.Get(field + lab.RuleConditionOf),
			Name: t.Values.Get(field + send.SendPropertyName), Kind: t.Values.Get(field + send.SendPropertyKind),
			Value: t.Values.Get(field + send.SendPropertyValue), Error: t.Errors[field],
		})
	}
	return rows
}

// parseConditions reads the rows of a correlation filter into its text, leaving out rows
// without a condition.
func parseConditions(ctx context.Context, t *pages.FormState) string {
	t.LimitRows(ctx, lab.RuleConditionPrefix, lab.RuleConditionRows)
	var c filter.Correlation
	for i, row := range submittedConditions(*t) {
		field := lab.RuleConditionPrefix + strconv.Itoa(i)
		twice := func(name string) {
			t.Errors[field] = component.Text{S: locale.T(ctx, "ui.rule.twice", locale.Args{"Name": shorten.To(name, 64)})}
		}
		if row.Of != "" {
			switch at := conditionField(&c, row.Of); {
			case at == nil:
				t.Errors[field] = component.Text{S: locale.T(ctx, "ui.rule.condition")}
			case *at != "" && row.Value != "":
				twice(row.Of)
			case row.Value != "":
				*at = row.Value
			}
			continue
		}
		if row.Name == "" && row.Value == "" {
			continue
		}
		v, wrong := pages.ParseRow(ctx, row.Name, row.Kind, row.Value)
		switch _, again := c.Properties.Lookup(row.Name); {
		case wrong.S != "":
			t.Errors[field] = wrong
		case again:
			twice(row.Name)
		default:
			c.Properties = append(c.Properties, value.Property{Name: row.Name, Value: v})
		}
	}
	return c.Text()
}

// conditionField returns the field of a correlation filter for a system property, one of
// lab.Correlated, or nil if a filter cannot have such a condition.
func conditionField(c *filter.Correlation, of string) *string {
	switch of {
	case "Label":
		return &c.Label
	case "MessageId":
		return &c.MessageID
	case "CorrelationId":
		return &c.CorrelationID
	case "SessionId":
		return &c.SessionID
	case "ContentType":
		return &c.ContentType
	case "To":
		return &c.To
	case "ReplyTo":
		return &c.ReplyTo
	case "ReplyToSessionId":
		return &c.ReplyToSessionID
	default:
		return nil
	}
}

// Conditions returns the conditions of a correlation filter as rows.
func Conditions(c *filter.Correlation) (rows []lab.Condition) {
	for _, of := range lab.Correlated() {
		if text := *conditionField(c, of); text != "" {
			rows = append(rows, lab.Condition{Of: of, Value: text})
		}
	}
	for _, q := range c.Properties {
		rows = append(rows, lab.Condition{Name: q.Name, Kind: q.Value.Kind().String(), Value: q.Value.Text()})
	}
	return rows
}
