package show

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// ParseRuleName reads the name of a new rule. An error goes to t.Errors.
func ParseRuleName(t FormState, l engine.Limits) string {
	name := strings.TrimSpace(t.Values.Get(page.RuleName))
	if err := engine.CheckRuleName(name, l); err != nil {
		t.Errors[page.RuleName] = component.ServerText(err.Error())
	}
	return name
}

// ParseRule reads the fields of a rule, except its name. Errors go to t.Errors and t.SyntaxErrors by
// field, in the engine's words.
func ParseRule(ctx context.Context, t *FormState, l engine.Limits) engine.Rule {
	t.SyntaxErrors = map[string]component.SyntaxError{}
	var r engine.Rule
	if action := unixLines(t.Values.Get(page.RuleAction)); strings.TrimSpace(action) != "" {
		r.Action = action
	}
	kind, ok := filterKinds[page.RuleKind(t.Values.Get(page.RuleHow))]
	if !ok {
		t.Errors[page.RuleHow] = component.Text{S: locale.T(ctx, "ui.rule.kind")}
	}
	r.Filter.Kind = kind
	switch kind {
	case engine.SQLFilter:
		r.Filter.Text = unixLines(t.Values.Get(page.RuleSQL))
	case engine.CorrelationFilter:
		r.Filter.Text = parseConditions(ctx, t)
	}
	if kind == engine.SQLFilter || strings.Contains(r.Action, "@") { // an action can use the rule's parameters too
		r.Filter.Parameters = parseParameters(ctx, t)
	}
	t.setRuleErrors(r, l)
	return r
}

// unixLines returns a text of several lines as it is stored: browsers send CRLF.
func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// filterKinds maps the words of forms to kinds of filters; an empty word means the true
// filter.
var filterKinds = map[page.RuleKind]engine.FilterKind{
	"": engine.TrueFilter, page.FilterTrue: engine.TrueFilter, page.FilterFalse: engine.FalseFilter,
	page.FilterSQL: engine.SQLFilter, page.FilterCorrelation: engine.CorrelationFilter,
}

// ruleKind returns a kind of filter in the word of forms, or "" for a kind added by a later
// version.
func ruleKind(k engine.FilterKind) page.RuleKind {
	switch k {
	case engine.TrueFilter:
		return page.FilterTrue
	case engine.FalseFilter:
		return page.FilterFalse
	case engine.CorrelationFilter:
		return page.FilterCorrelation
	case engine.SQLFilter:
		return page.FilterSQL
	default:
		return ""
	}
}

// setRuleErrors puts the engine's errors about a rule at their fields. Filter and action are checked
// separately, so that one mistake does not hide another.
func (t *FormState) setRuleErrors(r engine.Rule, l engine.Limits) {
	parts := [2]engine.Rule{{Filter: r.Filter}, {Filter: engine.Filter{Parameters: r.Filter.Parameters}, Action: r.Action}}
	for _, part := range parts {
		part.Name = engine.DefaultRule // the name of r was checked already, or is in use
		if err := engine.CheckRule(part, l); err != nil {
			t.setRuleError(r, err)
		}
	}
}

// setRuleError puts an error of the engine about a rule at its field.
func (t *FormState) setRuleError(r engine.Rule, err error) {
	e, ok := errors.AsType[*engine.RuleError](err)
	if !ok {
		t.setError(page.RuleHow, component.ServerText(err.Error()))
		return
	}
	field, text := page.RuleSQL, r.Filter.Text
	switch {
	case e.Part == engine.PartAction:
		field, text = page.RuleAction, r.Action
	case r.Filter.Kind == engine.CorrelationFilter:
		field = page.RuleConditionRows
	case r.Filter.Kind != engine.SQLFilter:
		field = page.RuleHow
	}
	if s, ok := errors.AsType[*filter.SyntaxError](err); ok {
		t.SyntaxErrors[field] = syntaxErrorOf(text, s)
		return
	}
	for name := range t.Errors { // errors of rows say more about wrong conditions
		if field == page.RuleConditionRows && strings.HasPrefix(name, page.RuleConditionPrefix) {
			return
		}
	}
	t.setError(field, component.ServerText(toSentence(e.Err.Error())))
}

func syntaxErrorOf(text string, s *filter.SyntaxError) component.SyntaxError {
	return component.SyntaxError{Text: text, At: s.Pos, Found: s.Found, Want: s.Want, Message: s.Text}
}

// limitRows refuses a table with more rows than are read.
func (t *FormState) limitRows(ctx context.Context, prefix, field string) {
	if beyond := prefix + strconv.Itoa(maxRowsRead); t.Values.Has(beyond+page.SendPropertyName) || t.Values.Has(beyond+page.SendPropertyValue) {
		t.setError(field, component.Text{S: locale.T(ctx, "ui.rows", locale.Args{"Most": locale.Number(ctx, maxRowsRead)})})
	}
}

func (t *FormState) setError(field string, says component.Text) {
	if t.Errors[field].S == "" {
		t.Errors[field] = says
	}
}

// toSentence returns s with a capital first letter and a full stop.
func toSentence(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// parseParameters reads the parameters of a rule. Their names get the leading @ if it was not
// typed (FILT-25).
func parseParameters(ctx context.Context, t *FormState) value.Properties {
	t.limitRows(ctx, page.RuleParameterPrefix, page.RuleSQL)
	all := ParseRows(ctx, *t, page.RuleParameterPrefix)
	for i := range all {
		if !strings.HasPrefix(all[i].Name, "@") {
			all[i].Name = "@" + all[i].Name
		}
		if _, twice := all[:i].LookupFold(all[i].Name); twice {
			t.setError(page.RuleSQL, component.Text{S: locale.T(ctx, "ui.rule.twice", locale.Args{"Name": shorten.To(all[i].Name, 64)})})
		}
	}
	return all
}

// submittedConditions returns the rows of conditions of a submitted form.
func submittedConditions(t FormState) (rows []page.Condition) {
	for i := range maxRowsRead {
		field := page.RuleConditionPrefix + strconv.Itoa(i)
		if !t.Values.Has(field+page.SendPropertyName) && !t.Values.Has(field+page.SendPropertyValue) {
			break
		}
		rows = append(rows, page.Condition{
			Of:   t.Values.Get(field + page.RuleConditionOf),
			Name: t.Values.Get(field + page.SendPropertyName), Kind: t.Values.Get(field + page.SendPropertyKind),
			Value: t.Values.Get(field + page.SendPropertyValue), Error: t.Errors[field],
		})
	}
	return rows
}

// parseConditions reads the rows of a correlation filter into its text, leaving out rows
// without a condition.
func parseConditions(ctx context.Context, t *FormState) string {
	t.limitRows(ctx, page.RuleConditionPrefix, page.RuleConditionRows)
	var c filter.Correlation
	for i, row := range submittedConditions(*t) {
		field := page.RuleConditionPrefix + strconv.Itoa(i)
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
		v, wrong := parseRow(ctx, row.Name, row.Kind, row.Value)
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
// page.Correlated, or nil if a filter cannot have such a condition.
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

// conditions returns the conditions of a correlation filter as rows.
func conditions(c *filter.Correlation) (rows []page.Condition) {
	for _, of := range page.Correlated() {
		if text := *conditionField(c, of); text != "" {
			rows = append(rows, page.Condition{Of: of, Value: text})
		}
	}
	for _, q := range c.Properties {
		rows = append(rows, page.Condition{Name: q.Name, Kind: q.Value.Kind().String(), Value: q.Value.Text()})
	}
	return rows
}
