package lab

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
	"mayfly/web/dashboard/pages"
)

// RuleFields returns the fields of a rule: as typed, with their errors, else those of an
// existing rule.
func RuleFields(ctx context.Context, p *pages.Pages, t pages.FormState, is engine.Rule) page.RuleFields {
	if t.Values != nil {
		f := page.RuleFields{
			Name: shorten.To(t.Values.Get(page.RuleName), 400), Kind: page.RuleKind(t.Values.Get(page.RuleHow)),
			SQL: UnixLines(t.Values.Get(page.RuleSQL)), Action: UnixLines(t.Values.Get(page.RuleAction)),
			Parameters: pages.SubmittedRows(t, page.RuleParameterPrefix), Conditions: submittedConditions(t),
			SQLFault: t.SyntaxErrors[page.RuleSQL], ActionFault: t.SyntaxErrors[page.RuleAction], Errors: t.Errors,
		}
		return withDefaults(p, f)
	}
	t.Errors, t.SyntaxErrors = map[string]component.Text{}, map[string]component.SyntaxError{}
	f := page.RuleFields{Name: is.Name, Kind: RuleKind(is.Filter.Kind), Action: is.Action, Parameters: pages.PropertyRows(is.Filter.Parameters)}
	switch is.Filter.Kind {
	case engine.SQLFilter:
		f.SQL = is.Filter.Text
	case engine.CorrelationFilter:
		if c, err := filter.ParseCorrelation(is.Filter.Text); err == nil {
			f.Conditions = Conditions(c)
		}
	}
	for i := range f.Parameters {
		f.Parameters[i].Error = pages.SingleLineError(ctx, f.Parameters[i].Value)
	}
	for i := range f.Conditions {
		f.Conditions[i].Error = pages.SingleLineError(ctx, f.Conditions[i].Value)
	}
	t.SetRuleErrors(is, p.Broker.Limits())
	f.SQLFault, f.ActionFault, f.Errors = t.SyntaxErrors[page.RuleSQL], t.SyntaxErrors[page.RuleAction], t.Errors
	return withDefaults(p, f)
}

func withDefaults(p *pages.Pages, f page.RuleFields) page.RuleFields {
	f.Kinds, f.Most = pages.PropertyTypes(), int(p.Broker.Limits().FilterLength)
	return f
}

// MessageFields returns the fields of a message to try, as typed.
func MessageFields(t pages.FormState) page.MessageFields {
	return page.MessageFields{
		Values: t.FirstValues(), Errors: t.Errors, Properties: pages.SubmittedRows(t, page.SendPropertyPrefix), Kinds: pages.PropertyTypes(),
	}
}

// FillForm replaces the typed fields of a form with those of a message.
func (s TrialMessage) FillForm(typed url.Values) {
	for name := range typed {
		if strings.HasPrefix(name, page.SendPropertyPrefix) {
			delete(typed, name)
		}
	}
	c := s.Content
	for name, text := range map[string]string{
		page.SendSubject: c.Subject, page.SendMessageID: c.MessageID, page.SendCorrelationID: c.CorrelationID,
		page.SendContentType: c.ContentType, page.SendSessionID: c.SessionID, page.SendTo: c.To, page.SendReplyTo: c.ReplyTo,
		page.SendReplyToSession: c.ReplyToSessionID, page.SendPartitionKey: c.PartitionKey,
	} {
		typed.Set(name, text)
	}
	for i, q := range c.Properties[:min(len(c.Properties), pages.MaxRows)] {
		field := page.SendPropertyPrefix + strconv.Itoa(i)
		typed.Set(field+page.SendPropertyName, q.Name)
		typed.Set(field+page.SendPropertyKind, q.Value.Kind().String())
		typed.Set(field+page.SendPropertyValue, q.Value.Text())
	}
}
