package lab

import (
	"context"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/entity"
	"mayfly/views/page/lab"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// maxSuggestedFrom is how many messages a subscription is suggested from.
const maxSuggestedFrom = recent.MaxUnmatched

// SuggestSubscription returns the form of a subscription that would have taken the messages whose keys are
// in the lab's address. The error says why that is impossible.
func SuggestSubscription(ctx context.Context, p *pages.Pages, at pages.Address) (pages.Address, error) {
	alike := selectedUnmatched(p, at)
	refuse := func(id string) (pages.Address, error) {
		return pages.Address{}, &pages.LocalizedError{Err: engine.ErrArgument, Text: locale.T(ctx, id)}
	}
	switch {
	case len(at.Query[lab.LabKey]) == 0:
		return refuse("tray.choose")
	case len(alike) == 0:
		return refuse("tray.unknown")
	}
	form := pages.Address{Namespace: at.Namespace, Kind: pages.Entity, EntityType: engine.Topic, Path: alike[0].Topic, Action: "new", Query: map[string][]string{}}
	for _, s := range alike {
		if s.Topic.Fold() != form.Path.Fold() {
			return refuse("tray.topics")
		}
		form.Query.Add(lab.LabKey, pages.KeyText(s.Key))
	}
	return form, nil
}

// selectedUnmatched returns the unmatched messages that an address names, without repetition.
func selectedUnmatched(p *pages.Pages, at pages.Address) (out []recent.UnmatchedMessage) {
	keys := at.Query[lab.LabKey]
	for i, text := range keys[:min(len(keys), maxSuggestedFrom)] {
		k, ok := pages.ParseNumber(text)
		if !ok || slices.Contains(keys[:i], text) {
			continue
		}
		if s, ok := p.Events.UnmatchedMessage(engine.Key(k)); ok {
			out = append(out, s)
		}
	}
	return out
}

// FirstRule adds the fields of a new subscription's first rule: as typed, or as suggested from
// the messages that the address names.
func FirstRule(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState, m *entity.Form) {
	var r engine.Rule
	var contents []engine.Content
	for _, s := range selectedUnmatched(p, at) {
		if c, err := s.Content.Content(); err == nil && s.Topic.Fold() == at.Path.Fold() {
			contents = append(contents, c)
			m.SuggestedFrom = append(m.SuggestedFrom, strings.TrimSpace(recent.ShortName(s.Content, 0)+" "+pages.SecondaryID(s.Content)))
		}
	}
	if c := commonFilter(contents); len(c.Text()) > len("{}") {
		r.Filter = engine.Filter{Kind: engine.CorrelationFilter, Text: c.Text()}
	} else if len(contents) > 0 && t.Values == nil {
		m.SuggestedFrom = nil
		m.Refused = component.Notice{Tone: component.Low, Title: locale.N(ctx, "tray.nothing", len(contents)), Detail: locale.T(ctx, "tray.nothing.detail")}
	}
	if more := len(m.SuggestedFrom) - pages.MaxSampleNames; more > 0 {
		m.SuggestedFrom = append(m.SuggestedFrom[:pages.MaxSampleNames:pages.MaxSampleNames], locale.N(ctx, "tray.more", more))
	}
	first := RuleFields(ctx, p, t, r)
	m.FirstRule = &first
}

// commonFilter returns the correlation filter of all properties that the messages have in common, as
// far as a form can hold it. For a single message it leaves out the properties that identify
// it.
func commonFilter(all []engine.Content) *filter.Correlation {
	c := &filter.Correlation{}
	if len(all) == 0 {
		return c
	}
	var seen []filter.Message
	for _, one := range all {
		seen = append(seen, engine.NewFilterMessage(one))
	}
	holds := func(one filter.Correlation) bool {
		return !slices.ContainsFunc(seen, func(m filter.Message) bool { return !one.Matches(&m) })
	}
	own := systemTexts(seen[0])
	for _, of := range lab.Correlated() {
		if len(all) == 1 && slices.Contains([]string{"MessageId", "CorrelationId", "SessionId", "ReplyToSessionId"}, of) {
			continue
		}
		text := own[slices.IndexFunc(own, func(s systemText) bool { return s.name == of })].text
		var one filter.Correlation
		*conditionField(&one, of) = text
		if text != "" && pages.IsSingleLine(text) && holds(one) {
			*conditionField(c, of) = text
		}
	}
	for _, q := range seen[0].Properties {
		_, twice := c.Properties.LookupFold(q.Name)
		one := filter.Correlation{Properties: value.Properties{q}}
		if !twice && q.Name != "" && pages.IsSingleLine(q.Name) && pages.IsSingleLine(q.Value.Text()) && len(c.Properties) < pages.MaxRows-len(lab.Correlated()) && holds(one) {
			c.Properties = append(c.Properties, q)
		}
	}
	return c
}
