package show

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/views/component"
	"mayfly/views/page"
)

// ruleFields are the fields of a rule: as they were typed, else those of a rule
// that is there, with what is wrong with it.
func (p *Pages) ruleFields(ctx context.Context, t Typed, is engine.Rule) page.RuleFields {
	if t.Values != nil {
		f := page.RuleFields{
			Name: cut(t.Values.Get(page.RuleName), 400), Kind: page.RuleKind(t.Values.Get(page.RuleHow)),
			SQL: lines(t.Values.Get(page.RuleSQL)), Action: lines(t.Values.Get(page.RuleAction)),
			Parameters: SentEntries(t, page.RuleParameterPrefix), Conditions: sentConditions(t),
			SQLFault: t.Faults[page.RuleSQL], ActionFault: t.Faults[page.RuleAction], Errors: t.Errors,
		}
		return p.complete(f)
	}
	t.Errors, t.Faults = map[string]component.Text{}, map[string]component.Fault{}
	f := page.RuleFields{Name: is.Name, Kind: ruleKind(is.Filter.Kind), Action: is.Action, Parameters: entries(is.Filter.Parameters)}
	switch is.Filter.Kind {
	case engine.SQLFilter:
		f.SQL = is.Filter.Text
	case engine.CorrelationFilter:
		if c, err := filter.ParseCorrelation(is.Filter.Text); err == nil {
			f.Conditions = conditions(c)
		}
	}
	for i := range f.Parameters {
		f.Parameters[i].Error = cannotKeep(ctx, f.Parameters[i].Value)
	}
	for i := range f.Conditions {
		f.Conditions[i].Error = cannotKeep(ctx, f.Conditions[i].Value)
	}
	t.refuse(is, p.b.Limits())
	f.SQLFault, f.ActionFault, f.Errors = t.Faults[page.RuleSQL], t.Faults[page.RuleAction], t.Errors
	return p.complete(f)
}

func (p *Pages) complete(f page.RuleFields) page.RuleFields {
	f.Kinds, f.Most = kindNames(), int(p.b.Limits().FilterLength)
	return f
}

// messageFields are the fields of a message to try something on, as they were
// typed.
func messageFields(t Typed) page.MessageFields {
	return page.MessageFields{
		Values: t.first(), Errors: t.Errors, Properties: SentEntries(t, page.SendPropertyPrefix), Kinds: kindNames(),
	}
}

// fill puts a message into the fields of a form, instead of what was typed.
func (s specimen) fill(typed url.Values) {
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
	for i, q := range c.Properties[:min(len(c.Properties), MostRows)] {
		field := page.SendPropertyPrefix + strconv.Itoa(i)
		typed.Set(field+page.SendPropertyName, q.Name)
		typed.Set(field+page.SendPropertyKind, q.Value.Kind().String())
		typed.Set(field+page.SendPropertyValue, q.Value.Text())
	}
}
