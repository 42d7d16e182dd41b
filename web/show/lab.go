package show

import (
	"context"
	"net/url"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	takingsShown = 50 // subscriptions of which it is told what they make of a message
	rulesShown   = 25 // of each
)

// labURL is the filter lab for the messages of a topic.
func (p *Pages) labURL(topic engine.Path) string {
	return p.URL(Place{Namespace: p.b.Name(), Kind: Lab}.with(page.LabTopic, topic.Name()))
}

func (p *Pages) lab(ctx context.Context, at Place) (view.Page, uint64, error) {
	return p.labPage(ctx, at, Typed{})
}

// Lab is the filter lab with what somebody filled in, and what became of the
// message if t.Try has one.
func (p *Pages) Lab(ctx context.Context, at Place, t Typed) (view.Page, error) {
	page, _, err := p.labPage(ctx, at, t)
	return page, err
}

// A labSight is what the filter lab sees of the broker.
type labSight struct {
	topics []string
	topic  engine.EntityState   // the chosen one; its Kind is zero if there is none
	subs   []engine.EntityState // of it, if something is tried
}

func (p *Pages) labPage(ctx context.Context, at Place, t Typed) (view.Page, uint64, error) {
	m := page.Lab{Refused: t.Refused, StrayKept: straysMost}
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
	var e labSight
	s, err := p.look(ctx, func(r broker.Reader) error {
		if e = seeLab(r, wanted, p.likelyTopic()); t.Try != nil && e.topic.Kind != 0 {
			e.subs = r.Subscriptions(e.topic.Path)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	m.Shell = p.shell(ctx, at, s, locale.T(ctx, "lab.title"))
	m.Topics, m.Message = e.topics, messageFields(t)
	if known {
		m.From = from.sample(s.now)
	}
	switch {
	case e.topic.Kind == 0:
	case wanted != "" && e.topic.Path.Fold() != wanted.Fold() && !m.Refused.Shown():
		m.Refused = component.Notice{Tone: component.Low, Title: locale.T(ctx, "lab.gone", locale.Args{"Topic": cut(string(wanted), 260)})}
		fallthrough
	default:
		m.Topic = page.Place{Kind: page.Topic, Name: e.topic.Path.Name(), Href: p.EntityURL(engine.Topic, e.topic.Path)}
	}
	if t.Try != nil && e.topic.Kind != 0 && !view.IsStill(ctx) { // what was tried is not live
		if m.Outcome, err = p.outcome(ctx, e.subs, asSent(t.Try.Message, e.topic, s.now), m.From.Key); err != nil {
			return nil, 0, err
		}
	}
	kept, all := p.recent.unmatched()
	m.StrayAll = all
	for _, one := range kept {
		m.Stray = append(m.Stray, p.strayRow(one, s.now))
	}
	return m, s.n, nil
}

// labStart fills in the message that the address names, and has it tried.
func (p *Pages) labStart(ctx context.Context, at Place, t *Typed, m *page.Lab) (from specimen, known bool, err error) {
	k, ok := number(at.Query.Get(page.LabFrom))
	if !ok {
		return from, false, nil
	}
	if from, known, err = p.specimen(ctx, engine.Key(k)); err != nil {
		return from, false, err
	}
	switch {
	case !known && !m.Refused.Shown():
		m.Refused = component.Notice{Tone: component.Low, Title: locale.T(ctx, "lab.unknown")}
	case known && t.Values == nil:
		t.Values, t.Try = url.Values{}, &Attempt{Message: from.content}
		from.fill(t.Values)
	}
	return from, known, nil
}

// likelyTopic is the one to begin with: where the latest message went that
// nobody took; empty: none did.
func (p *Pages) likelyTopic() engine.Path {
	if kept, _ := p.recent.unmatched(); len(kept) > 0 {
		return kept[0].topic
	}
	return ""
}

// seeLab chooses a topic: the one that is wanted if it is there, else the likely
// one, else any.
func seeLab(r broker.Reader, wanted, likely engine.Path) (e labSight) {
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
		if len(e.topics) < mostTargets || t.ID == e.topic.ID {
			e.topics = append(e.topics, t.Path.Name())
		}
	}
	return e
}

// A taking is what a subscription makes of a message, in short.
type taking struct {
	sub          engine.EntityState
	copies, dead int
	failed       bool // a rule could not be evaluated, or cannot be read
}

// rank puts first what tells most: those that take the message, then those
// whose rules fail on it.
func (t taking) rank() int {
	switch {
	case t.copies > 0:
		return 0
	case t.failed:
		return 1
	default:
		return 2
	}
}

// outcome is what subscriptions make of a message; key is of the message that
// it was filled from, if any. All rules are asked, which may be many: beside the
// broker's turn, and no longer than somebody waits.
func (p *Pages) outcome(ctx context.Context, subs []engine.EntityState, m filter.Message, key string) (page.Outcome, error) {
	out := page.Outcome{Tried: true}
	all := make([]taking, 0, len(subs))
	for _, sub := range subs {
		if err := ctx.Err(); err != nil {
			return out, context.Cause(ctx) //nolint:wrapcheck // whoever asked has left
		}
		t := p.take(sub, m)
		if all = append(all, t); t.copies > 0 {
			out.Takers, out.Copies = out.Takers+1, out.Copies+t.copies
		}
	}
	slices.SortStableFunc(all, func(a, b taking) int { return a.rank() - b.rank() })
	shown := all[:min(len(all), takingsShown)]
	for _, t := range shown {
		out.Subscriptions = append(out.Subscriptions, p.taking(t, m, key))
	}
	out.More = len(all) - len(shown)
	return out, nil
}

// take asks the rules of a subscription.
func (p *Pages) take(sub engine.EntityState, m filter.Message) taking {
	t := taking{sub: sub}
	trials := make([]engine.Trial, 0, len(sub.Rules))
	for _, r := range sub.Rules {
		trial, err := engine.TryRule(r, m, p.b.Limits())
		if err != nil { // it selects nothing
			t.failed = true
			continue
		}
		trial.Clauses = nil // there may be very many rules
		t.failed = t.failed || trial.Err != nil
		trials = append(trials, trial)
	}
	t.copies, t.dead = engine.Copies(trials, sub.Config)
	return t
}

// taking is t as a page tells it, with its rules in order: if there are many,
// those that select the message, or fail on it, before others.
func (p *Pages) taking(t taking, m filter.Message, key string) page.Taking {
	limits := p.b.Limits()
	edit := func(do, rule string) string {
		return p.URL(Place{Namespace: p.b.Name(), Kind: Entity, Entity: engine.Subscription, Path: t.sub.Path, Do: do}.with("rule", rule, page.LabFrom, key))
	}
	out := page.Taking{
		Name: t.sub.Path.Name(), Href: p.EntityURL(engine.Subscription, t.sub.Path), Copies: t.copies, Dead: t.dead, NewRule: edit("rules/new", ""),
	}
	rules := t.sub.Rules
	if len(rules) > rulesShown {
		rules = telling(rules, m, limits)
		out.More = len(t.sub.Rules) - len(rules)
	}
	for _, r := range rules {
		j := judge(r, m, limits)
		j.Href = edit("rules/edit", r.Name)
		out.Rules = append(out.Rules, j)
	}
	return out
}

// telling are as many of rules as are shown, in order: those that select the
// message or fail on it, then others.
func telling(rules []engine.Rule, m filter.Message, l engine.Limits) []engine.Rule {
	var first, rest []int
	for i, r := range rules {
		if t, err := engine.TryRule(r, m, l); err != nil || t.Selects || t.Err != nil {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	chosen := append(first, rest...)[:rulesShown]
	slices.Sort(chosen)
	out := make([]engine.Rule, 0, rulesShown)
	for _, i := range chosen {
		out = append(out, rules[i])
	}
	return out
}
