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
	"mayfly/views/page/lab"
	"mayfly/views/page/send"
	"mayfly/web/dashboard/pages"
)

// RuleFields returns the fields of a rule: as typed, with their errors, else those of an
// existing rule.
func RuleFields(ctx context.Context, p *pages.Pages, t pages.FormState, is engine.Rule) lab.RuleFields {
	if t.Values != nil {
		f := lab.RuleFields{
			Name: shorten.To(t.Values.Get(lab.RuleName), 400), Kind: lab.RuleKind(t.Values.Get(lab.RuleHow)),
			SQL: UnixLines(t.Values.Get(lab.RuleSQL)), Action: UnixLines(t.Values.Get(lab.RuleAction)),
			Parameters: pages.SubmittedRows(t, lab.RuleParameterPrefix), Conditions: submittedConditions(t),
			SQLFault: t.SyntaxErrors[lab.RuleSQL], ActionFault: t.SyntaxErrors[lab.RuleAction], Errors: t.Errors,
		}
		return withDefaults(p, f)
	}
	t.Errors, t.SyntaxErrors = map[string]component.Text{}, map[string]component.SyntaxError{}
	f := lab.RuleFields{Name: is.Name, Kind: RuleKind(is.Filter.Kind), Action: is.Action, Parameters: pages.PropertyRows(is.Filter.Parameters)}
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
	f.SQLFault, f.ActionFault, f.Errors = t.SyntaxErrors[lab.RuleSQL], t.SyntaxErrors[lab.RuleAction], t.Errors
	return withDefaults(p, f)
}

func withDefaults(p *pages.Pages, f lab.RuleFields) lab.RuleFields {
	f.Kinds, f.Most = pages.PropertyTypes(), int(p.Broker.Limits().FilterLength)
	return f
}

// MessageFields returns the fields of a message to try, as typed.
func MessageFields(t pages.FormState) lab.MessageFields {
	return lab.MessageFields{
		Values: t.FirstValues(), Errors: t.Errors, Properties: pages.SubmittedRows(t, send.SendPropertyPrefix), Kinds: pages.PropertyTypes(),
	}
}

// FillForm replaces the typed fields of a form with those of a message.
func (s TrialMessage) FillForm(typed url.Values) {
	for name := range typed {
		if strings.HasPrefix(name, send.SendPropertyPrefix) {
			delete(typed, name)
		}
	}
	c := s.Content
	for name, text := range map[string]string{
		send.SendSubject: c.Subject, send.SendMessageID: c.MessageID, send.SendCorrelationID: c.CorrelationID,
		send.SendContentType: c.ContentType, send.SendSessionID: c.SessionID, send.SendTo: c.To, send.SendReplyTo: c.ReplyTo,
		send.SendReplyToSession: c.ReplyToSessionID, send.SendPartitionKey: c.PartitionKey,
	} {
		typed.Set(name, text)
	}
	for i, q := range c.Properties[:min(len(c.Properties), pages.MaxRows)] {
		field := send.SendPropertyPrefix + strconv.Itoa(i)
		typed.Set(field+send.SendPropertyName, q.Name)
		typed.Set(field+send.SendPropertyKind, q.Value.Kind().String())
		typed.Set(field+send.SendPropertyValue, q.Value.Text())
	}
}
