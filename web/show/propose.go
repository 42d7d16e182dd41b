package show

import (
	"context"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// mostAlike is how many messages a subscription is proposed from.
const mostAlike = straysMost

// Catch is the form of the subscription that would have caught the messages
// whose keys an address of the lab has. The error says what of them makes that
// impossible.
func (p *Pages) Catch(ctx context.Context, at Place) (Place, error) {
	alike := p.alike(at)
	refuse := func(id string) (Place, error) {
		return Place{}, &Refusal{Kind: engine.ErrArgument, Text: locale.T(ctx, id)}
	}
	switch {
	case len(at.Query[page.LabKey]) == 0:
		return refuse("tray.choose")
	case len(alike) == 0:
		return refuse("tray.unknown")
	}
	form := Place{Namespace: at.Namespace, Kind: Entity, Entity: engine.Topic, Path: alike[0].topic, Do: "new", Query: map[string][]string{}}
	for _, s := range alike {
		if s.topic.Fold() != form.Path.Fold() {
			return refuse("tray.topics")
		}
		form.Query.Add(page.LabKey, keyText(s.key))
	}
	return form, nil
}

// alike are the messages of the tray that an address names, each once.
func (p *Pages) alike(at Place) (out []stray) {
	keys := at.Query[page.LabKey]
	for i, text := range keys[:min(len(keys), mostAlike)] {
		k, ok := number(text)
		if !ok || slices.Contains(keys[:i], text) {
			continue
		}
		if s, ok := p.recent.stray(engine.Key(k)); ok {
			out = append(out, s)
		}
	}
	return out
}

// firstRule asks for the rule that a new subscription begins with: as it was
// typed, or as it is proposed from the messages that the address names.
func (p *Pages) firstRule(ctx context.Context, at Place, t Typed, m *page.EntityForm) {
	var r engine.Rule
	var contents []engine.Content
	for _, s := range p.alike(at) {
		if c, err := s.content.Content(); err == nil && s.topic.Fold() == at.Path.Fold() {
			contents = append(contents, c)
			m.Like = append(m.Like, strings.TrimSpace(calledBriefly(s.content, 0)+" "+besideSubject(s.content)))
		}
	}
	if c := shared(contents); len(c.Text()) > len("{}") {
		r.Filter = engine.Filter{Kind: engine.CorrelationFilter, Text: c.Text()}
	} else if len(contents) > 0 && t.Values == nil {
		m.Like = nil
		m.Refused = component.Notice{Tone: component.Low, Title: locale.N(ctx, "tray.nothing", len(contents)), Detail: locale.T(ctx, "tray.nothing.detail")}
	}
	if more := len(m.Like) - sampled; more > 0 {
		m.Like = append(m.Like[:sampled:sampled], locale.N(ctx, "tray.more", more))
	}
	first := p.ruleFields(ctx, t, r)
	m.First = &first
}

// shared is the correlation filter of all that messages have in common, as far
// as a form can hold it. What tells one message from others is left out unless
// several have the same.
func shared(all []engine.Content) *filter.Correlation {
	c := &filter.Correlation{}
	if len(all) == 0 {
		return c
	}
	var seen []filter.Message
	for _, one := range all {
		seen = append(seen, engine.FilterMessage(one))
	}
	holds := func(one filter.Correlation) bool {
		return !slices.ContainsFunc(seen, func(m filter.Message) bool { return !one.Matches(&m) })
	}
	own := texts(seen[0])
	for _, of := range page.Correlated() {
		if len(all) == 1 && slices.Contains([]string{"MessageId", "CorrelationId", "SessionId", "ReplyToSessionId"}, of) {
			continue
		}
		text := own[slices.IndexFunc(own, func(s systemText) bool { return s.name == of })].text
		var one filter.Correlation
		*conditionOn(&one, of) = text
		if text != "" && oneLine(text) && holds(one) {
			*conditionOn(c, of) = text
		}
	}
	for _, q := range seen[0].Properties {
		_, twice := c.Properties.LookupFold(q.Name)
		one := filter.Correlation{Properties: value.Properties{q}}
		if !twice && q.Name != "" && oneLine(q.Name) && oneLine(q.Value.Text()) && len(c.Properties) < MostRows-len(page.Correlated()) && holds(one) {
			c.Properties = append(c.Properties, q)
		}
	}
	return c
}
