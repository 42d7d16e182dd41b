package show

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	// rulesOnPage is how many rules of a subscription are shown at once.
	rulesOnPage = 100
	// samplesShown is how many messages are offered to try a rule on, and
	// samplesOf how many of one subscription are looked at, of samplesFrom
	// subscriptions at most.
	samplesShown = 6
	samplesOf    = 4
	samplesFrom  = 8
)

// rule is a rule of a subscription, to be read.
func (p *Pages) rule(sub engine.Path, r engine.Rule, now engine.Instant) page.Rule {
	out := page.Rule{
		Name: r.Name, Kind: ruleKind(r.Filter.Kind), Filter: r.Filter.Text, Action: r.Action,
		Always: r.Filter.Kind == engine.TrueFilter, Created: r.CreatedAt.Time(), Now: now.Time(),
		Edit: p.ruleURL(sub, "rules/edit", r.Name), Remove: p.ruleURL(sub, "rules/remove", r.Name),
	}
	if r.Filter.Kind == engine.CorrelationFilter {
		if c, err := filter.ParseCorrelation(r.Filter.Text); err == nil {
			out.Conditions = conditions(c)
			for i := range out.Conditions {
				out.Conditions[i].Value = cut(out.Conditions[i].Value, longestReading)
			}
		}
	} else {
		out.Parameters = entries(r.Filter.Parameters)
	}
	return out
}

// judged is rule with what is wrong with it, if the engine would refuse it now.
func (p *Pages) judged(sub engine.Path, r engine.Rule, now engine.Instant) page.Rule {
	out, limits := p.rule(sub, r, now), p.b.Limits()
	err := engine.CheckRule(r, limits)
	if err == nil {
		return out
	}
	out.Wrong = asSentence(err.Error())
	_, err = engine.TryRule(r, filter.Message{}, limits)
	out.Inert = err != nil
	return out
}

// ruleURL is where something is done to a rule; without a name, to no rule in
// particular.
func (p *Pages) ruleURL(sub engine.Path, do, name string) string {
	return p.URL(Place{Namespace: p.b.Name(), Kind: Entity, Entity: engine.Subscription, Path: sub, Do: do}.with("rule", name))
}

// rulesTab adds the rules of a subscription, a page of them.
func (p *Pages) rulesTab(ctx context.Context, at Place, m *page.Entity, e entitySight, now engine.Instant) {
	from := (pageNumber(at, len(e.Rules), rulesOnPage) - 1) * rulesOnPage
	shown := e.Rules[from:min(len(e.Rules), from+rulesOnPage)]
	for _, r := range shown {
		m.Rules = append(m.Rules, p.judged(e.Path, r, now))
	}
	if len(shown) < len(e.Rules) {
		m.Pages = p.pager(ctx, at, from, len(shown), len(e.Rules), rulesOnPage)
	}
	m.Lede = rulesLede(ctx, m.Topic, e.Rules)
}

// rulesLede says what the rules of a subscription of a topic do together
// (FILT-2, FILT-4, FILT-5).
func rulesLede(ctx context.Context, topic string, rules []engine.Rule) []component.Text {
	actions := 0
	for _, r := range rules {
		if r.Action != "" {
			actions++
		}
	}
	switch {
	case len(rules) == 0:
		return nil
	case len(rules) == 1 && actions == 0 && rules[0].Filter.Kind == engine.TrueFilter:
		return []component.Text{strong(locale.T(ctx, "rules.lede.everything", locale.Args{"Topic": topic}))}
	}
	lede := []component.Text{strong(locale.N(ctx, "rules.lede", len(rules)))}
	switch {
	case actions > 0 && len(rules) == 1: // there is no other copy that its own would be beside
		lede = append(lede, say(" "+locale.T(ctx, "rules.lede.action")))
	case actions > 0:
		lede = append(lede, say(" "+locale.N(ctx, "rules.lede.actions", actions)))
	}
	return lede
}

// Rule is a rule of a subscription as it is kept. It is engine.ErrNotFound if
// there is none of that name.
func (p *Pages) Rule(ctx context.Context, sub engine.Path, name string) (engine.Rule, error) {
	var e engine.EntityState
	err := p.b.Read(ctx, func(r broker.Reader) (err error) {
		e, err = r.State(sub)
		return err //nolint:wrapcheck // the caller asked for just this
	})
	if err != nil {
		return engine.Rule{}, err //nolint:wrapcheck // the caller asked for just this
	}
	return ruleOf(ctx, e, name)
}

func ruleOf(ctx context.Context, e engine.EntityState, name string) (engine.Rule, error) {
	i := slices.IndexFunc(e.Rules, func(r engine.Rule) bool { return strings.EqualFold(r.Name, name) })
	if i < 0 {
		text := locale.T(ctx, "ui.rule.none", locale.Args{"Rule": cut(name, 64), "Name": Shown(e.Path)})
		return engine.Rule{}, &Refusal{Kind: engine.ErrNotFound, Text: text}
	}
	return e.Rules[i], nil
}

// ruleForm asks for a new rule, or for changes to one that is there, and shows
// what came of trying it.
func (p *Pages) ruleForm(ctx context.Context, at Place, t Typed) (view.Page, error) {
	if at.Entity != engine.Subscription {
		return nil, ErrNoPage
	}
	var (
		e       entitySight
		samples []specimen
	)
	s, err := p.look(ctx, func(r broker.Reader) (err error) {
		if e, err = seeEntity(r, at.Path); err == nil {
			samples, err = seeSamples(r, e.EntityState, e.topic.Path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var is engine.Rule
	name := at.Query.Get("rule")
	if name != "" || at.Do == "rules/edit" {
		if is, err = ruleOf(ctx, e.EntityState, name); err != nil {
			return nil, err
		}
	}
	m := page.RuleForm{
		Shell: p.still(ctx, at, locale.T(ctx, "rule.new", locale.Args{"Name": e.Path.Name()})),
		New:   is.Name == "",
		In:    page.Place{Kind: page.Subscription, Name: e.Path.Name(), Href: p.EntityURL(e.Kind, e.Path)},
		Topic: page.Place{Kind: page.Topic, Name: e.topic.Path.Name(), Href: p.EntityURL(engine.Topic, e.topic.Path)},
		To:    p.ruleURL(e.Path, "rules/new", ""), Try: p.ruleURL(e.Path, "rules/try", ""), Refused: t.Refused,
		Rule: p.ruleFields(ctx, t, is),
	}
	if !m.New {
		m.Shell.Title = locale.T(ctx, "rule.edit", locale.Args{"Name": is.Name})
		m.To, m.Try = p.ruleURL(e.Path, "rules/edit", is.Name), p.ruleURL(e.Path, "rules/try", is.Name)
		m.Rule.Name = is.Name
	}
	if !e.Config.IgnoreFilterExceptions {
		m.Dead = Shown(e.Path.DeadLetter())
	}
	for _, one := range p.samples(samples, e.topic.Path) {
		m.Recent = append(m.Recent, one.sample(s.now))
	}
	if err := p.startFrom(ctx, at, &t, is); err != nil {
		return nil, err
	}
	m.Message = messageFields(t)
	if t.Try != nil {
		m.Tried = judge(t.Try.Rule, asSent(t.Try.Message, e.topic, s.now), p.b.Limits())
	}
	return m, nil
}

// startFrom fills in the message that the address of a form nobody has touched
// names, and tries the rule on it if there is one.
func (p *Pages) startFrom(ctx context.Context, at Place, t *Typed, is engine.Rule) error {
	k, ok := number(at.Query.Get(page.LabFrom))
	if !ok || t.Values != nil {
		return nil
	}
	s, ok, err := p.specimen(ctx, engine.Key(k))
	if err != nil || !ok {
		return err
	}
	t.Values = url.Values{}
	s.fill(t.Values)
	if is.Name != "" && engine.CheckRule(is, p.b.Limits()) == nil {
		t.Try = &Attempt{Rule: is, Message: s.content}
	}
	return nil
}

// FillFrom puts a message into the fields of a form; false: nothing is known of
// it any more.
func (p *Pages) FillFrom(ctx context.Context, typed url.Values, k engine.Key) (known bool, err error) {
	s, known, err := p.specimen(ctx, k)
	if known {
		s.fill(typed)
	}
	return known, err
}

// seeSamples finds the latest messages of a subscription and of some others of
// its topic: those that are as they were sent.
func seeSamples(r broker.Reader, e engine.EntityState, topic engine.Path) (out []specimen, err error) {
	subs := slices.DeleteFunc(r.Subscriptions(topic), func(s engine.EntityState) bool {
		return s.ID == e.ID || s.Counts.MessageCount() == 0
	})
	sent := map[engine.Key]bool{}
	for _, s := range append([]engine.EntityState{e}, subs[:min(len(subs), samplesFrom)]...) {
		rows, err := r.Browse(engine.Browse{Path: s.Path, From: max(1, s.NextSeq-samplesOf), Limit: samplesOf})
		if err == nil && len(rows) == 0 {
			rows, err = r.Browse(engine.Browse{Path: s.Path, From: 1, Limit: samplesOf})
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller asked for just this
		}
		for _, row := range rows {
			x := row.Message.Extra
			if one, ok := specimenOf(row); ok && !sent[row.Message.Content] && (x == nil || x.Rewritten == "") {
				sent[row.Message.Content] = true
				out = append(out, one)
			}
		}
	}
	return out, nil
}

// samples are the latest messages sent to a topic: of those seen in its
// subscriptions, and of those that none of them took.
func (p *Pages) samples(seen []specimen, topic engine.Path) []specimen {
	unmatched, _ := p.recent.unmatched()
	for _, one := range unmatched {
		if one.topic.Fold() != topic.Fold() {
			continue
		}
		if s, ok := one.specimen(); ok {
			seen = append(seen, s)
		}
	}
	slices.SortStableFunc(seen, func(a, b specimen) int { return int(b.at - a.at) })
	return seen[:min(len(seen), samplesShown)]
}
