package show

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
	"mayfly/views/view"
)

const (
	maxSubscriptionResults = 50 // subscriptions whose results are shown
	maxRuleResults         = 25 // of each
)

// labURL returns the address of the filter lab for a topic.
func (p *Pages) labURL(topic engine.Path) string {
	return p.URL(Address{Namespace: p.b.Name(), Kind: FilterLab}.withQuery(page.LabTopic, topic.Name()))
}

func (p *Pages) lab(ctx context.Context, at Address) (view.Page, uint64, error) {
	return p.labPage(ctx, at, FormState{})
}

// Lab returns the filter lab with the submitted form, and the result for the message in t.Trial.
func (p *Pages) Lab(ctx context.Context, at Address, t FormState) (view.Page, error) {
	page, _, err := p.labPage(ctx, at, t)
	return page, err
}

// A labSnapshot is the broker's state that the filter lab needs.
type labSnapshot struct {
	topics []string
	topic  engine.EntityState   // the selected topic; its Kind is zero if there is none
	subs   []engine.EntityState // of the topic, if a message is tried
}

func (p *Pages) labPage(ctx context.Context, at Address, t FormState) (view.Page, uint64, error) {
	m := page.FilterLab{Refused: t.Refused, MaxUnmatched: maxUnmatched}
	wanted := engine.Path(t.Values.Get(page.LabTopic))
	if wanted == "" {
		wanted = engine.Path(at.Query.Get(page.LabTopic))
	}
	from, known, err := p.labStart(ctx, at, &t, &m)
	if err != nil {
		return nil, 0, err
	}
	if known && from.topic != "" && at.Query.Get(page.LabTopic) == "" && !t.Values.Has(page.LabTopic) {
		wanted = from.topic
	}
	var e labSnapshot
	s, err := p.read(ctx, func(r broker.Reader) error {
		if e = readLab(r, wanted, p.likelyTopic()); t.Trial != nil && e.topic.Kind != 0 {
			e.subs = r.Subscriptions(e.topic.Path)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m.Shell = p.liveShell(ctx, at, s, locale.T(ctx, "lab.title"))
	m.Topics, m.Message = e.topics, messageFields(t)
	if known {
		m.From = from.sample(s.now)
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
		if m.Outcome, err = p.outcome(ctx, e.subs, messageAsSent(t.Trial.Message, e.topic, s.now), m.From.Key); err != nil {
			return nil, 0, err
		}
	}
	kept, all := p.events.listUnmatched()
	m.UnmatchedCount = all
	for _, one := range kept {
		m.Unmatched = append(m.Unmatched, p.unmatchedRow(one, s.now))
	}
	return m, s.event, nil
}

// labStart fills in the message that the address names, and tries it.
func (p *Pages) labStart(ctx context.Context, at Address, t *FormState, m *page.FilterLab) (from trialMessage, known bool, err error) {
	k, ok := parseNumber(at.Query.Get(page.LabFrom))
	if !ok {
		return from, false, nil
	}
	if from, known, err = p.findTrialMessage(ctx, engine.Key(k)); err != nil {
		return from, false, err
	}
	switch {
	case !known && !m.Refused.Visible():
		m.Refused = component.Notice{Tone: component.Low, Title: locale.T(ctx, "lab.unknown")}
	case known && t.Values == nil:
		t.Values, t.Trial = url.Values{}, &RuleTrial{Message: from.content}
		from.fillForm(t.Values)
	}
	return from, known, nil
}

// likelyTopic returns the default topic: that of the latest message that no subscription took,
// or "" if there is none.
func (p *Pages) likelyTopic() engine.Path {
	if kept, _ := p.events.listUnmatched(); len(kept) > 0 {
		return kept[0].topic
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
		if len(e.topics) < maxForwardTargets || t.ID == e.topic.ID {
			e.topics = append(e.topics, t.Path.Name())
		}
	}
	return e
}

// A subscriptionResult is the result of a subscription for a message, in short.
type subscriptionResult struct {
	sub          engine.EntityState
	copies, dead int
	failed       bool // a rule could not be parsed or evaluated
}

// rank sorts the most interesting subscriptions first: those that take the message, then those
// whose rules fail on it.
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

// outcome returns the results of all subscriptions for a message; key is the message that the
// form was filled from, if any. Every rule is evaluated, and there may be many, so this
// happens outside the broker's turn and ends when ctx does.
func (p *Pages) outcome(ctx context.Context, subs []engine.EntityState, m filter.Message, key string) (page.Outcome, error) {
	out := page.Outcome{Tried: true}
	all := make([]subscriptionResult, 0, len(subs))
	for _, sub := range subs {
		if err := ctx.Err(); err != nil {
			return out, context.Cause(ctx)
		}
		t := p.evaluateRules(sub, m)
		if all = append(all, t); t.copies > 0 {
			out.Matching, out.Copies = out.Matching+1, out.Copies+t.copies
		}
	}
	slices.SortStableFunc(all, func(a, b subscriptionResult) int { return a.rank() - b.rank() })
	shown := all[:min(len(all), maxSubscriptionResults)]
	for _, t := range shown {
		out.Subscriptions = append(out.Subscriptions, p.subscriptionResult(t, m, key))
	}
	out.More = len(all) - len(shown)
	return out, nil
}

// evaluateRules evaluates the rules of a subscription.
func (p *Pages) evaluateRules(sub engine.EntityState, m filter.Message) subscriptionResult {
	t := subscriptionResult{sub: sub}
	trials := make([]engine.RuleTrial, 0, len(sub.Rules))
	for _, r := range sub.Rules {
		trial, err := engine.TryRule(r, m, p.b.Limits())
		if err != nil { // it selects nothing
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

// subscriptionResult returns t as the page shows it, with its rules in order. If there are too many, rules
// that select the message or fail on it are preferred.
func (p *Pages) subscriptionResult(t subscriptionResult, m filter.Message, key string) page.SubscriptionResult {
	limits := p.b.Limits()
	edit := func(do, rule string) string {
		return p.URL(Address{Namespace: p.b.Name(), Kind: Entity, EntityType: engine.Subscription, Path: t.sub.Path, Action: do}.withQuery("rule", rule, page.LabFrom, key))
	}
	out := page.SubscriptionResult{
		Name: t.sub.Path.Name(), Href: p.EntityURL(engine.Subscription, t.sub.Path), Copies: t.copies, Dead: t.dead, NewRule: edit("rules/new", ""),
	}
	rules := t.sub.Rules
	if len(rules) > maxRuleResults {
		rules = relevantRules(rules, m, limits)
		out.More = len(t.sub.Rules) - len(rules)
	}
	for _, r := range rules {
		j := tryRule(r, m, limits)
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
