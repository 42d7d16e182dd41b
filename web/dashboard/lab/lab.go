package lab

import (
	"context"
	"net/url"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/lab"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

const (
	maxSubscriptionResults = 50 // subscriptions whose results are shown
	maxRuleResults         = 25 // rules shown per subscription
)

// Lab returns the page where filters are tried.
func Lab(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	return labPage(ctx, p, at, pages.FormState{})
}

// WithForm returns the filter lab with the submitted form, and the result for the message in t.Trial.
func WithForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	page, _, err := labPage(ctx, p, at, t)
	return page, err
}

// A labSnapshot is the broker's state that the filter lab needs.
type labSnapshot struct {
	topics []string
	topic  engine.EntityState   // the selected topic; its Kind is zero if there is none
	subs   []engine.EntityState // subscriptions of the topic, if a message is tried
}

func labPage(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, uint64, error) {
	m := lab.FilterLab{Refused: t.Refused, MaxUnmatched: recent.MaxUnmatched}
	wanted := engine.Path(t.Values.Get(lab.LabTopic))
	if wanted == "" {
		wanted = engine.Path(at.Query.Get(lab.LabTopic))
	}
	from, known, err := labStart(ctx, p, at, &t, &m)
	if err != nil {
		return nil, 0, err
	}
	if known && from.topic != "" && at.Query.Get(lab.LabTopic) == "" && !t.Values.Has(lab.LabTopic) {
		wanted = from.topic
	}
	var e labSnapshot
	s, err := p.Read(ctx, func(r broker.Reader) error {
		if e = readLab(r, wanted, likelyTopic(p)); t.Trial != nil && e.topic.Kind != 0 {
			e.subs = r.Subscriptions(e.topic.Path)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m.Shell = p.LiveShell(ctx, at, s, locale.T(ctx, "lab.title"))
	m.Topics, m.Message = e.topics, MessageFields(t)
	if known {
		m.From = from.Sample(s.Now)
	}
	switch {
	case e.topic.Kind == 0:
	case wanted != "" && e.topic.Path.Fold() != wanted.Fold() && !m.Refused.Visible():
		m.Refused = component.Notice{Tone: component.Low, Title: locale.T(ctx, "lab.gone", locale.Args{"Topic": shorten.To(string(wanted), 260)})}
		fallthrough
	default:
		m.Topic = page.EntityRef{Kind: page.Topic, Name: e.topic.Path.Name(), Href: p.EntityURL(engine.Topic, e.topic.Path)}
	}
	if t.Trial != nil && e.topic.Kind != 0 && !view.ClocksFrozen(ctx) { // the result is not live
		if m.Outcome, err = outcome(ctx, p, e.subs, MessageAsSent(t.Trial.Message, e.topic, s.Now), m.From.Key); err != nil {
			return nil, 0, err
		}
	}
	kept, all := p.Events.ListUnmatched()
	m.UnmatchedCount = all
	for _, one := range kept {
		m.Unmatched = append(m.Unmatched, unmatchedRow(p, one, s.Now))
	}
	return m, s.Event, nil
}

// labStart fills in the message that the address names, and tries it.
func labStart(ctx context.Context, p *pages.Pages, at pages.Address, t *pages.FormState, m *lab.FilterLab) (from TrialMessage, known bool, err error) {
	k, ok := pages.ParseNumber(at.Query.Get(lab.LabFrom))
	if !ok {
		return from, false, nil
	}
	if from, known, err = FindTrialMessage(ctx, p, engine.Key(k)); err != nil {
		return from, false, err
	}
	switch {
	case !known && !m.Refused.Visible():
		m.Refused = component.Notice{Tone: component.Low, Title: locale.T(ctx, "lab.unknown")}
	case known && t.Values == nil:
		t.Values, t.Trial = url.Values{}, &pages.RuleTrial{Message: from.Content}
		from.FillForm(t.Values)
	}
	return from, known, nil
}

// likelyTopic returns the default topic: that of the latest message that no subscription took,
// or "" if there is none.
func likelyTopic(p *pages.Pages) engine.Path {
	if kept, _ := p.Events.ListUnmatched(); len(kept) > 0 {
		return kept[0].Topic
	}
	return ""
}

// readLab selects a topic: the wanted one if it exists, else the likely one, else any.
func readLab(r broker.Reader, wanted, likely engine.Path) (e labSnapshot) {
	topics := r.States(engine.Topic)
	for _, want := range []engine.Path{wanted, likely} {
		i := slices.IndexFunc(topics, func(t engine.EntityState) bool { return t.Path.Fold() == want.Fold() })
		if i >= 0 && e.topic.Kind == 0 {
			e.topic = topics[i]
		}
	}
	if e.topic.Kind == 0 && len(topics) > 0 {
		e.topic = topics[0]
	}
	for _, t := range topics {
		if len(e.topics) < pages.MaxForwardTargets || t.ID == e.topic.ID {
			e.topics = append(e.topics, t.Path.Name())
		}
	}
	return e
}

// A subscriptionResult sums up the results of the rules of a subscription for a message.
type subscriptionResult struct {
	sub          engine.EntityState
	copies, dead int
	failed       bool // a rule could not be parsed or evaluated
}

// rank returns a subscription's place in the sort order: first those that take the message, then
// those with a rule that fails on it, then the others.
func (t subscriptionResult) rank() int {
	switch {
	case t.copies > 0:
		return 0
	case t.failed:
		return 1
	default:
		return 2
	}
}

// outcome returns the results of all subscriptions for a message. `key` is the key of the stored
// message that the form was filled from, or "". As outcome evaluates every rule, of which there
// may be many, it runs outside the broker's turn and stops with an error when ctx is done.
func outcome(ctx context.Context, p *pages.Pages, subs []engine.EntityState, m filter.Message, key string) (lab.Outcome, error) {
	out := lab.Outcome{Tried: true}
	all := make([]subscriptionResult, 0, len(subs))
	for _, sub := range subs {
		if err := ctx.Err(); err != nil {
			return out, context.Cause(ctx)
		}
		t := evaluateRules(p, sub, m)
		if all = append(all, t); t.copies > 0 {
			out.Matching, out.Copies = out.Matching+1, out.Copies+t.copies
		}
	}
	slices.SortStableFunc(all, func(a, b subscriptionResult) int { return a.rank() - b.rank() })
	shown := all[:min(len(all), maxSubscriptionResults)]
	for _, t := range shown {
		out.Subscriptions = append(out.Subscriptions, resultOf(p, t, m, key))
	}
	out.More = len(all) - len(shown)
	return out, nil
}

// evaluateRules evaluates the rules of a subscription.
func evaluateRules(p *pages.Pages, sub engine.EntityState, m filter.Message) subscriptionResult {
	t := subscriptionResult{sub: sub}
	trials := make([]engine.RuleTrial, 0, len(sub.Rules))
	for _, r := range sub.Rules {
		trial, err := engine.TryRule(r, m, p.Broker.Limits())
		if err != nil { // a rule with an error selects nothing
			t.failed = true
			continue
		}
		trial.Clauses = nil // to save memory: there may be very many rules
		t.failed = t.failed || trial.Err != nil
		trials = append(trials, trial)
	}
	t.copies, t.dead = engine.CountCopies(trials, sub.Config)
	return t
}

// resultOf returns the result of a subscription as the page shows it, with its rules in order. If
// there are more than maxRuleResults rules, those that select the message or fail on it are
// preferred.
func resultOf(p *pages.Pages, t subscriptionResult, m filter.Message, key string) lab.SubscriptionResult {
	limits := p.Broker.Limits()
	edit := func(do, rule string) string {
		return p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.Entity, EntityType: engine.Subscription, Path: t.sub.Path, Action: do}.WithQuery("rule", rule, lab.LabFrom, key))
	}
	out := lab.SubscriptionResult{
		Name: t.sub.Path.Name(), Href: p.EntityURL(engine.Subscription, t.sub.Path), Copies: t.copies, Dead: t.dead, NewRule: edit("rules/new", ""),
	}
	rules := t.sub.Rules
	if len(rules) > maxRuleResults {
		rules = relevantRules(rules, m, limits)
		out.More = len(t.sub.Rules) - len(rules)
	}
	for _, r := range rules {
		j := TryRule(r, m, limits)
		j.Href = edit("rules/edit", r.Name)
		out.Rules = append(out.Rules, j)
	}
	return out
}

// relevantRules returns maxRuleResults of the rules, in order, preferring those that select the message
// or fail on it.
func relevantRules(rules []engine.Rule, m filter.Message, l engine.Limits) []engine.Rule {
	var first, rest []int
	for i, r := range rules {
		if t, err := engine.TryRule(r, m, l); err != nil || t.Selects || t.Err != nil {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	chosen := append(first, rest...)[:maxRuleResults]
	slices.Sort(chosen)
	out := make([]engine.Rule, 0, maxRuleResults)
	for _, i := range chosen {
		out = append(out, rules[i])
	}
	return out
}
