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
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// ReadRuleName reads the name of a new rule.
func ReadRuleName(t Typed, l engine.Limits) string {
	name := strings.TrimSpace(t.Values.Get(page.RuleName))
	if err := engine.CheckRuleName(name, l); err != nil {
		t.Errors[page.RuleName] = component.Said(err.Error())
	}
	return name
}

// ReadRule reads the fields of a rule but its name. What is wrong goes to
// t.Errors and t.Faults, each at its field, and is what the engine would say.
func ReadRule(ctx context.Context, t *Typed, l engine.Limits) engine.Rule {
	t.Faults = map[string]component.Fault{}
	var r engine.Rule
	if action := lines(t.Values.Get(page.RuleAction)); strings.TrimSpace(action) != "" {
		r.Action = action
	}
	kind, ok := filterKinds[page.RuleKind(t.Values.Get(page.RuleHow))]
	if !ok {
		t.Errors[page.RuleHow] = component.Text{S: locale.T(ctx, "ui.rule.kind")}
	}
	r.Filter.Kind = kind
	switch kind {
	case engine.SQLFilter:
		r.Filter.Text = lines(t.Values.Get(page.RuleSQL))
	case engine.CorrelationFilter:
		r.Filter.Text = readConditions(ctx, t)
	}
	if kind == engine.SQLFilter || strings.Contains(r.Action, "@") { // an action's names are the same rule's
		r.Filter.Parameters = readParameters(ctx, t)
	}
	t.refuse(r, l)
	return r
}

// lines is a text of several lines as it is kept: browsers send CRLF.
func lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// filterKinds are the kinds of filters by the words of forms; without a word it
// is the one that takes everything.
var filterKinds = map[page.RuleKind]engine.FilterKind{
	"": engine.TrueFilter, page.Everything: engine.TrueFilter, page.Nothing: engine.FalseFilter,
	page.SQL: engine.SQLFilter, page.Correlation: engine.CorrelationFilter,
}

// ruleKind is a kind of filter in the word of forms; empty for one that a later
// version made.
func ruleKind(k engine.FilterKind) page.RuleKind {
	switch k {
	case engine.TrueFilter:
		return page.Everything
	case engine.FalseFilter:
		return page.Nothing
	case engine.CorrelationFilter:
		return page.Correlation
	case engine.SQLFilter:
		return page.SQL
	default:
		return ""
	}
}

// refuse puts what the engine has against a rule at its fields: filter and
// action are asked for apart, so that one mistake does not hide another.
func (t *Typed) refuse(r engine.Rule, l engine.Limits) {
	parts := [2]engine.Rule{{Filter: r.Filter}, {Filter: engine.Filter{Parameters: r.Filter.Parameters}, Action: r.Action}}
	for _, part := range parts {
		part.Name = engine.DefaultRule // that of r has been checked, or is there already
		if err := engine.CheckRule(part, l); err != nil {
			t.blame(r, err)
		}
	}
}

// blame puts an error of the engine about a rule at its field.
func (t *Typed) blame(r engine.Rule, err error) {
	e, ok := errors.AsType[*engine.RuleError](err)
	if !ok {
		t.set(page.RuleHow, component.Said(err.Error()))
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
		t.Faults[field] = faultOf(text, s)
		return
	}
	for name := range t.Errors { // the rows say better what is wrong with the conditions
		if field == page.RuleConditionRows && strings.HasPrefix(name, page.RuleConditionPrefix) {
			return
		}
	}
	t.set(field, component.Said(asSentence(e.Err.Error())))
}

func faultOf(text string, s *filter.SyntaxError) component.Fault {
	return component.Fault{Text: text, At: s.Pos, Found: s.Found, Want: s.Want, Says: s.Text}
}

// bound refuses a table with more rows than are read.
func (t *Typed) bound(ctx context.Context, prefix, field string) {
	if beyond := prefix + strconv.Itoa(rowsRead); t.Values.Has(beyond+page.SendPropertyName) || t.Values.Has(beyond+page.SendPropertyValue) {
		t.set(field, component.Text{S: locale.T(ctx, "ui.rows", locale.Args{"Most": locale.Number(ctx, rowsRead)})})
	}
}

func (t *Typed) set(field string, says component.Text) {
	if t.Errors[field].S == "" {
		t.Errors[field] = says
	}
}

// asSentence is s with a capital letter and a full stop.
func asSentence(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// readParameters reads what the names in a rule's texts stand for; they are
// found with the @, whether it was typed or not (FILT-25).
func readParameters(ctx context.Context, t *Typed) value.Properties {
	t.bound(ctx, page.RuleParameterPrefix, page.RuleSQL)
	all := ReadEntries(ctx, *t, page.RuleParameterPrefix)
	for i := range all {
		if !strings.HasPrefix(all[i].Name, "@") {
			all[i].Name = "@" + all[i].Name
		}
		if _, twice := all[:i].LookupFold(all[i].Name); twice {
			t.set(page.RuleSQL, component.Text{S: locale.T(ctx, "ui.rule.twice", locale.Args{"Name": cut(all[i].Name, 64)})})
		}
	}
	return all
}

// sentConditions are the rows of conditions of a form that was sent.
func sentConditions(t Typed) (rows []page.Condition) {
	for i := range rowsRead {
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

// readConditions reads the rows of a correlation filter into the text of one;
// rows that ask for nothing are left out.
func readConditions(ctx context.Context, t *Typed) string {
	t.bound(ctx, page.RuleConditionPrefix, page.RuleConditionRows)
	var c filter.Correlation
	for i, row := range sentConditions(*t) {
		field := page.RuleConditionPrefix + strconv.Itoa(i)
		twice := func(name string) {
			t.Errors[field] = component.Text{S: locale.T(ctx, "ui.rule.twice", locale.Args{"Name": cut(name, 64)})}
		}
		if row.Of != "" {
			switch at := conditionOn(&c, row.Of); {
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
		v, wrong := readEntry(ctx, row.Name, row.Kind, row.Value)
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

// conditionOn is where a correlation filter keeps its condition on a system
// property, one of page.Correlated; nil: it cannot have one.
func conditionOn(c *filter.Correlation, of string) *string {
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

// conditions are those of a correlation filter, as rows.
func conditions(c *filter.Correlation) (rows []page.Condition) {
	for _, of := range page.Correlated() {
		if text := *conditionOn(c, of); text != "" {
			rows = append(rows, page.Condition{Of: of, Value: text})
		}
	}
	for _, q := range c.Properties {
		rows = append(rows, page.Condition{Name: q.Name, Kind: q.Value.Kind().String(), Value: q.Value.Text()})
	}
	return rows
}
