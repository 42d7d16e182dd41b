package show

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/page"
)

// ruleFields returns the fields of a rule: as typed, with their errors, else those of an
// existing rule.
func (p *Pages) ruleFields(ctx context.Context, t FormState, is engine.Rule) page.RuleFields {
	if t.Values != nil {
		f := page.RuleFields{
			Name: shorten.To(t.Values.Get(page.RuleName), 400), Kind: page.RuleKind(t.Values.Get(page.RuleHow)),
			SQL: unixLines(t.Values.Get(page.RuleSQL)), Action: unixLines(t.Values.Get(page.RuleAction)),
			Parameters: SubmittedRows(t, page.RuleParameterPrefix), Conditions: submittedConditions(t),
			SQLFault: t.SyntaxErrors[page.RuleSQL], ActionFault: t.SyntaxErrors[page.RuleAction], Errors: t.Errors,
		}
		return p.withDefaults(f)
	}
	t.Errors, t.SyntaxErrors = map[string]component.Text{}, map[string]component.SyntaxError{}
	f := page.RuleFields{Name: is.Name, Kind: ruleKind(is.Filter.Kind), Action: is.Action, Parameters: propertyRows(is.Filter.Parameters)}
	switch is.Filter.Kind {
	case engine.SQLFilter:
		f.SQL = is.Filter.Text
	case engine.CorrelationFilter:
		if c, err := filter.ParseCorrelation(is.Filter.Text); err == nil {
			f.Conditions = conditions(c)
		}
	}
	for i := range f.Parameters {
		f.Parameters[i].Error = singleLineError(ctx, f.Parameters[i].Value)
	}
	for i := range f.Conditions {
		f.Conditions[i].Error = singleLineError(ctx, f.Conditions[i].Value)
	}
	t.setRuleErrors(is, p.b.Limits())
	f.SQLFault, f.ActionFault, f.Errors = t.SyntaxErrors[page.RuleSQL], t.SyntaxErrors[page.RuleAction], t.Errors
	return p.withDefaults(f)
}

func (p *Pages) withDefaults(f page.RuleFields) page.RuleFields {
	f.Kinds, f.Most = propertyTypes(), int(p.b.Limits().FilterLength)
	return f
}

// messageFields returns the fields of a message to try, as typed.
func messageFields(t FormState) page.MessageFields {
	return page.MessageFields{
		Values: t.firstValues(), Errors: t.Errors, Properties: SubmittedRows(t, page.SendPropertyPrefix), Kinds: propertyTypes(),
	}
}

// fillForm replaces the typed fields of a form with those of a message.
func (s trialMessage) fillForm(typed url.Values) {
	for name := range typed {
		if strings.HasPrefix(name, page.SendPropertyPrefix) {
			delete(typed, name)
		}
	}
	c := s.content
	for name, text := range map[string]string{
		page.SendSubject: c.Subject, page.SendMessageID: c.MessageID, page.SendCorrelationID: c.CorrelationID,
		page.SendContentType: c.ContentType, page.SendSessionID: c.SessionID, page.SendTo: c.To, page.SendReplyTo: c.ReplyTo,
		page.SendReplyToSession: c.ReplyToSessionID, page.SendPartitionKey: c.PartitionKey,
	} {
		typed.Set(name, text)
	}
	for i, q := range c.Properties[:min(len(c.Properties), MaxRows)] {
		field := page.SendPropertyPrefix + strconv.Itoa(i)
		typed.Set(field+page.SendPropertyName, q.Name)
		typed.Set(field+page.SendPropertyKind, q.Value.Kind().String())
		typed.Set(field+page.SendPropertyValue, q.Value.Text())
	}
}
